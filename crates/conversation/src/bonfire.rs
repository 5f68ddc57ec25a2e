//! Bonfire: more requests for a better reply.
//!
//! A plan, three independent drafts at once, an adversarial critique, and a synthesis that becomes the reply,
//! all by the seat that answers. Only the synthesis is spoken; the rest goes to the thinking channel and the
//! run journal. Each prompt is the thread's own prompt with one instruction at its end, so providers can
//! reuse their cache of it and people can read what was asked.

use std::fmt;

use crate::ending::Failure;
use crate::prompt::Prompt;

/// How many drafts are written.
pub const DRAFTS: usize = 3;

/// About how many requests a Bonfire makes for each seat that answers.
pub const fn request_count() -> usize {
    DRAFTS + 3
}

/// One request of a Bonfire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// What a good answer needs.
    Plan,
    /// One of several answers, from 0.
    Draft(usize),
    /// What is wrong with them.
    Critique,
    /// The reply.
    Synthesis,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan => f.write_str("plan"),
            Self::Draft(nth) => write!(f, "draft {}", nth + 1),
            Self::Critique => f.write_str("critique"),
            Self::Synthesis => f.write_str("synthesis"),
        }
    }
}

/// A request that a Bonfire wants made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRequest {
    /// Which step.
    pub step: Step,
    /// What is added to the thread's prompt.
    pub instruction: String,
    /// What is sent.
    pub prompt: Prompt,
}

/// How a Bonfire goes on after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Other steps are still running.
    Waiting,
    /// These requests come next.
    Next(Vec<StepRequest>),
    /// It can't go on, for this reason.
    Failed(Failure),
}

/// A Bonfire up to its synthesis, which is an ordinary reply.
#[derive(Clone, Debug)]
pub struct Bonfire {
    base: Prompt,
    merge: bool,
    plan: String,
    drafts: [Draft; DRAFTS],
    critique: String,
}

#[derive(Clone, Debug, Default)]
struct Draft {
    text: String,
    outcome: Option<Result<(), Failure>>,
}

impl Bonfire {
    /// Begins one over the thread's prompt. `merge` is the seat's
    /// [`merge_same_role`](crate::Seat::merge_same_role).
    pub fn start(base: Prompt, merge: bool) -> (Self, StepRequest) {
        let bonfire = Self {
            base,
            merge,
            plan: String::new(),
            drafts: Default::default(),
            critique: String::new(),
        };
        let first = bonfire.request(Step::Plan);
        (bonfire, first)
    }

    /// A step has said something.
    pub fn hear(&mut self, step: Step, text: &str) {
        match step {
            Step::Plan => self.plan.push_str(text),
            Step::Draft(nth) => {
                if let Some(draft) = self.drafts.get_mut(nth) {
                    draft.text.push_str(text);
                }
            }
            Step::Critique => self.critique.push_str(text),
            Step::Synthesis => {}
        }
    }

    /// What a step has said so far. The synthesis is not kept here.
    pub fn said(&self, step: Step) -> &str {
        match step {
            Step::Plan => &self.plan,
            Step::Draft(nth) => self.drafts.get(nth).map_or("", |draft| &draft.text),
            Step::Critique => &self.critique,
            Step::Synthesis => "",
        }
    }

    /// A step has ended; an error, or silence, fails it. One draft is enough to go on; a plan and a critique
    /// are indispensable.
    pub fn step_ended(&mut self, step: Step, outcome: Result<(), Failure>) -> Progress {
        let outcome = outcome.and_then(|()| {
            if self.said(step).trim().is_empty() {
                Err("the model answered with nothing".into())
            } else {
                Ok(())
            }
        });
        match (step, outcome) {
            (Step::Draft(nth), outcome) => {
                if let Some(draft) = self.drafts.get_mut(nth) {
                    draft.outcome = Some(outcome);
                }
                self.after_drafts()
            }
            (step, Err(failure)) => Progress::Failed(failure.within(step)),
            (Step::Plan, Ok(())) => Progress::Next(
                (0..DRAFTS)
                    .map(|nth| self.request(Step::Draft(nth)))
                    .collect(),
            ),
            (Step::Critique, Ok(())) => Progress::Next(vec![self.request(Step::Synthesis)]),
            (Step::Synthesis, Ok(())) => Progress::Waiting,
        }
    }

    fn after_drafts(&self) -> Progress {
        if self.drafts.iter().any(|draft| draft.outcome.is_none()) {
            return Progress::Waiting;
        }
        if self.good_drafts().next().is_some() {
            return Progress::Next(vec![self.request(Step::Critique)]);
        }
        let first_error = self
            .drafts
            .iter()
            .find_map(|draft| draft.outcome.as_ref()?.as_ref().err());
        let first_error = first_error.cloned().unwrap_or_else(|| "".into());
        Progress::Failed(first_error.within("every draft failed"))
    }

    fn good_drafts(&self) -> impl Iterator<Item = &str> {
        self.drafts
            .iter()
            .filter(|draft| draft.outcome == Some(Ok(())))
            .map(|draft| draft.text.as_str())
    }

    fn request(&self, step: Step) -> StepRequest {
        let instruction = match step {
            Step::Plan => PLAN.to_owned(),
            Step::Draft(nth) => format!(
                "{DRAFT}\n\n{}\n\n{}",
                ANGLES[nth % ANGLES.len()],
                tagged("plan", &self.plan)
            ),
            Step::Critique => format!("{CRITIQUE}\n\n{}", self.tagged_drafts()),
            Step::Synthesis => format!(
                "{SYNTHESIS}\n\n{}\n\n{}",
                self.tagged_drafts(),
                tagged("critique", &self.critique)
            ),
        };
        StepRequest {
            step,
            prompt: self.base.followed_by(&instruction, self.merge),
            instruction,
        }
    }

    fn tagged_drafts(&self) -> String {
        let drafts: Vec<String> = self
            .good_drafts()
            .enumerate()
            .map(|(nth, text)| tagged(&format!("draft-{}", nth + 1), text))
            .collect();
        drafts.join("\n\n")
    }
}

fn tagged(name: &str, text: &str) -> String {
    format!("<{name}>\n{}\n</{name}>", text.trim())
}

const PLAN: &str = "[System] Do not answer yet. Plan the answer to the latest message above: what is really \
being asked, which facts of this conversation bear on it, what a complete answer must cover, where it is easy \
to go wrong, and how one could tell that the answer is right. Give the plan as a short list. Several drafts \
will be written from it independently.";

const DRAFT: &str = "[System] Write a full draft of your answer to the latest message above. A plan follows; \
depart from it where it is wrong. Other drafts are being written at the same time, and you won't see them.";

const ANGLES: [&str; DRAFTS] = [
    "Your emphasis: the most direct answer that fully does the job.",
    "Your emphasis: reason from first principles, and question what the obvious answer takes for granted.",
    "Your emphasis: edge cases, failure modes and alternatives that the obvious answer overlooks.",
];

const CRITIQUE: &str = "[System] Below are drafts of your answer to the latest message above. Be their \
adversary. For each, look for errors of fact or reasoning, claims without support, misread requirements, code \
that would not work, and things left out; check them against the conversation rather than against each \
other. Where drafts disagree, decide who is right and say why. Name what is sound and should be kept. Don't \
write the answer itself.";

const SYNTHESIS: &str = "[System] Now write your reply to the latest message above; the group reads this \
reply and nothing of what led to it. Drafts and a critique of them follow. Take the best of the drafts, \
repair what the critique rightly found, ignore what it got wrong, and make one coherent answer as long as it \
needs to be. Don't mention the drafts or the critique.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{PromptMessage, PromptRole};

    fn base() -> Prompt {
        Prompt {
            messages: vec![PromptMessage {
                role: PromptRole::User,
                content: "[User] why?".into(),
            }],
            chars: 11,
            dropped: Vec::new(),
            over_budget: false,
        }
    }

    fn steps(progress: &Progress) -> Vec<Step> {
        match progress {
            Progress::Next(requests) => requests.iter().map(|r| r.step).collect(),
            Progress::Waiting | Progress::Failed(_) => Vec::new(),
        }
    }

    fn end(bonfire: &mut Bonfire, step: Step, text: &str) -> Progress {
        bonfire.hear(step, text);
        bonfire.step_ended(step, Ok(()))
    }

    #[test]
    fn a_bonfire_makes_as_many_requests_as_it_says() {
        let (mut bonfire, plan) = Bonfire::start(base(), false);
        let mut pending = vec![plan];
        let mut made = Vec::new();
        while let Some(request) = pending.pop() {
            made.push(request.step);
            if let Progress::Next(more) = end(&mut bonfire, request.step, "text") {
                pending.extend(more);
            }
        }
        assert_eq!(made.len(), request_count());
        assert_eq!(made.last(), Some(&Step::Synthesis));
    }

    #[test]
    fn every_prompt_is_the_threads_prompt_and_one_instruction() {
        let (mut bonfire, plan) = Bonfire::start(base(), false);
        assert_eq!(plan.prompt.messages[..1], base().messages);
        assert_eq!(plan.prompt.messages[1].content, plan.instruction);
        let Progress::Next(drafts) = end(&mut bonfire, Step::Plan, "the plan") else {
            panic!("drafts come after the plan");
        };
        for draft in &drafts {
            assert_eq!(draft.prompt.messages[..1], base().messages);
            assert!(draft.instruction.contains("<plan>\nthe plan\n</plan>"));
        }
        assert_ne!(drafts[0].instruction, drafts[1].instruction);
        let (_, merged) = Bonfire::start(base(), true);
        assert_eq!(merged.prompt.messages.len(), 1);
        assert_eq!(
            merged.prompt.chars,
            merged.prompt.messages[0].content.chars().count()
        );
    }

    #[test]
    fn one_good_draft_is_enough() {
        let (mut bonfire, _) = Bonfire::start(base(), false);
        end(&mut bonfire, Step::Plan, "plan");
        assert_eq!(
            bonfire.step_ended(Step::Draft(2), Err("429".into())),
            Progress::Waiting
        );
        assert_eq!(end(&mut bonfire, Step::Draft(0), "  "), Progress::Waiting);
        let next = end(&mut bonfire, Step::Draft(1), "good");
        assert_eq!(steps(&next), [Step::Critique]);
        let Progress::Next(requests) = next else {
            panic!("a critique comes after the drafts");
        };
        assert!(
            requests[0]
                .instruction
                .contains("<draft-1>\ngood\n</draft-1>")
        );
        assert!(!requests[0].instruction.contains("<draft-2>"));
    }

    #[test]
    fn without_any_draft_the_first_error_is_reported() {
        let (mut bonfire, _) = Bonfire::start(base(), false);
        end(&mut bonfire, Step::Plan, "plan");
        bonfire.step_ended(Step::Draft(1), Err("second".into()));
        bonfire.step_ended(Step::Draft(0), Err("quota used up".into()));
        assert_eq!(
            bonfire.step_ended(Step::Draft(2), Err("third".into())),
            Progress::Failed("every draft failed: quota used up".into())
        );
    }

    #[test]
    fn a_plan_or_critique_that_fails_ends_it_with_the_providers_words() {
        for step in [Step::Plan, Step::Critique] {
            let (mut bonfire, _) = Bonfire::start(base(), false);
            assert_eq!(
                bonfire.step_ended(step, Err("no credit left".into())),
                Progress::Failed(Failure::from("no credit left").within(step))
            );
            assert!(matches!(
                bonfire.step_ended(step, Ok(())),
                Progress::Failed(_)
            ));
        }
    }
}
