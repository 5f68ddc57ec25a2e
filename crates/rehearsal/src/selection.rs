//! Which step answers a request: in order or by match, how often, and what to say when none does.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use crate::conditions::{Candidate, Difference, quoted};
use crate::script::{Endpoint, Script, Step};
use crate::table_view::TableView;

/// How many steps a mismatch is compared with.
const COMPARED_STEPS: usize = 5;

/// How far a script has been played.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// Chat requests so far, in all and by model.
    requests: u64,
    requests_of_model: HashMap<String, u64>,
    /// By step: how often it answered, and how often its conditions fitted.
    answered: Vec<u64>,
    fitted: Vec<u64>,
}

/// The outcome for one request.
#[derive(Debug)]
pub(crate) enum Chosen<'a> {
    Step(&'a Step),
    /// The text says what was expected and what came.
    Mismatch(String),
}

impl Selection {
    pub(crate) fn new(script: &Script) -> Selection {
        Selection {
            answered: vec![0; script.steps.len()],
            fitted: vec![0; script.steps.len()],
            ..Selection::default()
        }
    }

    /// The answer to a request for the model list, if the script has one of its own.
    pub(crate) fn choose_for_models<'a>(&mut self, script: &'a Script) -> Option<&'a Step> {
        let steps = script.steps.iter().enumerate();
        let mut candidates = steps.filter(|(_, step)| step.endpoint == Endpoint::Models);
        let (index, step) = candidates.find(|(index, step)| self.may_answer(*index, step))?;
        self.answered[index] += 1;
        Some(step)
    }

    /// The answer to a chat request. In strict mode steps marked `otherwise` are left out.
    pub(crate) fn choose_for_chat<'a>(
        &mut self,
        script: &'a Script,
        view: &TableView,
        facts: &BTreeMap<String, String>,
        strict: bool,
    ) -> Chosen<'a> {
        self.requests += 1;
        let of_model = self
            .requests_of_model
            .entry(view.model.clone())
            .or_default();
        *of_model += 1;
        let candidate = Candidate {
            view,
            nth: self.requests,
            nth_of_model: *of_model,
            facts,
        };
        let chosen = self
            .choose(script, candidate, false)
            .or_else(|| (!strict).then(|| self.choose(script, candidate, true))?);
        match chosen {
            Some(index) => {
                self.answered[index] += 1;
                Chosen::Step(&script.steps[index])
            }
            None => Chosen::Mismatch(self.describe_mismatch(script, candidate)),
        }
    }

    fn choose(
        &mut self,
        script: &Script,
        candidate: Candidate<'_>,
        otherwise: bool,
    ) -> Option<usize> {
        for (index, step) in script.steps.iter().enumerate() {
            if step.endpoint != Endpoint::Chat
                || step.otherwise != otherwise
                || self.is_worn_out(script, index, step)
            {
                continue;
            }
            if step.conditions.differences(candidate).is_empty() {
                self.fitted[index] += 1;
                if self.may_answer(index, step) {
                    return Some(index);
                }
            }
            if script.ordered && !otherwise {
                return None;
            }
        }
        None
    }

    fn is_worn_out(&self, script: &Script, index: usize, step: &Step) -> bool {
        let once_in_order = script.ordered && !step.otherwise;
        let times = step.times.or(once_in_order.then_some(1));
        times.is_some_and(|times| self.answered[index] >= times)
    }

    fn may_answer(&self, index: usize, step: &Step) -> bool {
        let in_turn = !step.every_other || self.fitted[index] % 2 == 1;
        in_turn && step.times.is_none_or(|times| self.answered[index] < times)
    }

    fn describe_mismatch(&self, script: &Script, candidate: Candidate<'_>) -> String {
        let view = candidate.view;
        let mut text = format!(
            "request {} (number {} for its model) matched no step\n",
            candidate.nth, candidate.nth_of_model
        );
        let seat = view.seat.as_deref().unwrap_or("(none named)");
        let previous = view
            .previous
            .as_ref()
            .map_or("(nobody)", |said| &said.speaker);
        // Writing to a String can't fail.
        let _ = write!(
            text,
            "  model: {}\n  seat: {seat}\n  last role: {}\n  previous speaker: {previous}\n  the person's last words: {}\n",
            view.model,
            view.last_role,
            quoted(&view.user),
        );
        let open: Vec<(&Step, Vec<Difference>)> = self.open_steps(script, candidate);
        if open.is_empty() {
            text.push_str("no step is left that could answer\n");
        }
        for (step, differences) in &open {
            let _ = writeln!(text, "  {} expected otherwise:", step.label);
            for difference in differences {
                let _ = write!(text, "{difference}");
            }
        }
        text
    }

    /// The steps a mismatch is explained by, the nearest first; in an ordered script only the one whose turn it is.
    fn open_steps<'a>(
        &self,
        script: &'a Script,
        candidate: Candidate<'_>,
    ) -> Vec<(&'a Step, Vec<Difference>)> {
        let steps = script.steps.iter().enumerate();
        let mut open: Vec<_> = steps
            .filter(|(_, step)| step.endpoint == Endpoint::Chat && !step.otherwise)
            .filter(|(index, step)| !self.is_worn_out(script, *index, step))
            .map(|(_, step)| (step, step.conditions.differences(candidate)))
            .collect();
        if script.ordered {
            open.truncate(1);
        } else {
            open.sort_by_key(|(_, differences)| differences.len());
            open.truncate(COMPARED_STEPS);
        }
        open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(script: &str, strict: bool, words: &[&str]) -> Vec<String> {
        let script = Script::parse(script).expect("the script is well formed");
        let mut selection = Selection::new(&script);
        words
            .iter()
            .map(|user| {
                let view = TableView {
                    model: "m".to_owned(),
                    user: (*user).to_owned(),
                    ..TableView::default()
                };
                match selection.choose_for_chat(&script, &view, &BTreeMap::new(), strict) {
                    Chosen::Step(step) => step.label.clone(),
                    Chosen::Mismatch(text) => text,
                }
            })
            .collect()
    }

    const GREETINGS: &str = r#"
[[step]]
name = "a"
contains = "a"
times = 1
reply = "x"

[[step]]
name = "ab"
contains = ["a", "b"]
reply = "x"

[[step]]
name = "rest"
otherwise = true
reply = "x"
"#;

    #[test]
    fn a_matched_script_takes_the_first_step_that_fits_and_is_not_worn_out() {
        let played = play(GREETINGS, true, &["ab", "ab", "ab"]);
        assert!(played[0].contains("\"a\""), "{played:?}");
        assert!(played[1].contains("\"ab\""), "{played:?}");
        assert!(played[2].contains("\"ab\""), "{played:?}");
    }

    #[test]
    fn otherwise_answers_in_lenient_mode_only() {
        assert!(play(GREETINGS, false, &["z"])[0].contains("rest"));
        assert!(play(GREETINGS, true, &["z"])[0].contains("matched no step"));
    }

    #[test]
    fn an_ordered_script_waits_at_its_step() {
        let script = "order = \"ordered\"\n[[step]]\ncontains = \"one\"\nreply = \"x\"\n[[step]]\ntimes = 2\nreply = \"x\"\n";
        let played = play(script, true, &["two", "one", "two", "three", "four"]);
        assert!(played[0].contains("matched no step"), "{}", played[0]);
        assert!(played[0].contains("- contains: \"one\""), "{}", played[0]);
        assert!(played[0].contains("+ contains: \"two\""), "{}", played[0]);
        assert!(!played[0].contains("step 2"), "{}", played[0]);
        assert!(played[1].starts_with("step 1"));
        assert!(played[2].starts_with("step 2"));
        assert!(played[3].starts_with("step 2"));
        assert!(played[4].contains("no step is left"), "{}", played[4]);
    }

    #[test]
    fn the_nearest_step_comes_first_in_a_mismatch() {
        let script = "[[step]]\nmodel = \"other\"\ncontains = \"q\"\nreply = \"x\"\n[[step]]\ncontains = \"q\"\nreply = \"x\"\n";
        let text = &play(script, true, &["z"])[0];
        let at = |label: &str| text.find(label).expect("the step is named");
        assert!(at("step 2") < at("step 1"), "{text}");
    }

    #[test]
    fn every_other_time_the_next_step_answers() {
        let script = "[[step]]\nname = \"fail\"\nevery_other = true\nstatus = 429\n[[step]]\nname = \"work\"\nreply = \"x\"\n";
        let played = play(script, true, &["r"; 4]);
        let names: Vec<bool> = played.iter().map(|label| label.contains("fail")).collect();
        assert_eq!(names, [true, false, true, false]);
    }

    #[test]
    fn the_model_list_wears_out_to_the_built_in_one() {
        let script = Script::parse("[[step]]\nendpoint = \"models\"\ntimes = 1\nstatus = 500\n")
            .expect("the script is well formed");
        let mut selection = Selection::new(&script);
        assert!(selection.choose_for_models(&script).is_some());
        assert!(selection.choose_for_models(&script).is_none());
    }
}
