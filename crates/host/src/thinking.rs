//! The thinking channel of a reply that is made in several steps, some of them at the same time.

use std::collections::VecDeque;

use conversation::Purpose;

/// Puts the text of steps that run side by side one after the other, each under a heading: the step that began
/// to speak first goes on until it ends, and what the others say meanwhile is kept for their turn.
#[derive(Default)]
pub(crate) struct ThinkingSteps {
    speaking: Option<Purpose>,
    waiting: VecDeque<(Purpose, String)>,
    ended: Vec<Purpose>,
    /// Whether a step has spoken, so that the next one begins a new paragraph.
    has_spoken: bool,
}

impl ThinkingSteps {
    /// Takes text of a step; returns what the channel says now.
    pub(crate) fn tell(&mut self, purpose: Purpose, text: String) -> Option<String> {
        match self.speaking {
            Some(speaking) if speaking == purpose => Some(text),
            None => {
                self.speaking = Some(purpose);
                Some(self.begin(purpose) + &text)
            }
            Some(_) => {
                match self.waiting.iter_mut().find(|(of, _)| *of == purpose) {
                    Some((_, kept)) => kept.push_str(&text),
                    None => self.waiting.push_back((purpose, text)),
                }
                None
            }
        }
    }

    /// The heading of a step, as a paragraph of its own. A plain reply's thoughts need none.
    fn begin(&mut self, purpose: Purpose) -> String {
        let before = if std::mem::replace(&mut self.has_spoken, true) {
            "\n\n"
        } else {
            ""
        };
        match purpose {
            Purpose::Reply => before.to_owned(),
            step => format!("{before}**{}**\n\n", step.name()),
        }
    }

    /// A step is over; returns what the channel says now: what waited, up to the next step that still speaks.
    pub(crate) fn end(&mut self, purpose: Purpose) -> Option<String> {
        self.ended.push(purpose);
        if self.speaking != Some(purpose) {
            return None;
        }
        self.speaking = None;
        let mut said = String::new();
        while self.speaking.is_none()
            && let Some((next, text)) = self.waiting.pop_front()
        {
            said.push_str(&self.begin(next));
            said.push_str(&text);
            if !self.ended.contains(&next) {
                self.speaking = Some(next);
            }
        }
        (!said.is_empty()).then_some(said)
    }
}

#[cfg(test)]
mod tests {
    use conversation::bonfire::Step;

    use super::*;

    const ONE: Purpose = Purpose::Bonfire(Step::Draft(0));
    const TWO: Purpose = Purpose::Bonfire(Step::Draft(1));

    #[test]
    fn steps_side_by_side_are_told_one_after_the_other() {
        let mut steps = ThinkingSteps::default();
        let mut channel = String::new();
        let mut hear = |text: Option<String>| channel.push_str(&text.unwrap_or_default());
        hear(steps.tell(ONE, "a".into()));
        hear(steps.tell(TWO, "x".into()));
        hear(steps.tell(ONE, "b".into()));
        hear(steps.end(ONE));
        hear(steps.tell(TWO, "y".into()));
        hear(steps.end(TWO));
        assert_eq!(channel.trim_end(), "**draft 1**\n\nab\n\n**draft 2**\n\nxy");
    }

    #[test]
    fn a_step_that_ended_while_it_waited_lets_the_next_one_speak() {
        let three = Purpose::Bonfire(Step::Draft(2));
        let mut steps = ThinkingSteps::default();
        steps.tell(ONE, "a".into());
        steps.tell(TWO, "x".into());
        steps.tell(three, "1".into());
        assert_eq!(steps.end(TWO), None);
        let said = steps.end(ONE).unwrap();
        assert!(
            said.contains("**draft 2**\n\nx") && said.ends_with("**draft 3**\n\n1"),
            "{said}"
        );
        assert_eq!(steps.tell(three, "2".into()), Some("2".into()));
    }

    #[test]
    fn the_thoughts_of_a_plain_reply_pass_as_they_are() {
        let mut steps = ThinkingSteps::default();
        assert_eq!(steps.tell(Purpose::Reply, "hm".into()), Some("hm".into()));
        assert_eq!(steps.end(Purpose::Reply), None);
    }
}
