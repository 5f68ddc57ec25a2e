//! Token counts out of the many shapes of a `usage` object.

use serde_json::Value;

use crate::completion::Usage;

impl Usage {
    /// Reads a `usage` object; `None` where it counts nothing at all, because gateways send zeros for "unknown".
    pub(crate) fn from_wire(usage: &Value) -> Option<Usage> {
        let input = count(usage, &["prompt_tokens", "input_tokens"]).filter(|n| *n > 0);
        let output = count(usage, &["completion_tokens", "output_tokens"]).filter(|n| *n > 0);
        if input.is_none() && output.is_none() {
            return None;
        }
        Some(Usage {
            input_tokens: input,
            output_tokens: output,
            cached_input_tokens: detail(
                usage,
                &["prompt_tokens_details", "input_tokens_details"],
                "cached_tokens",
            )
            .or_else(|| {
                count(
                    usage,
                    &[
                        "prompt_cache_hit_tokens",
                        "cache_read_input_tokens",
                        "cached_tokens",
                    ],
                )
            }),
            reasoning_tokens: detail(
                usage,
                &["completion_tokens_details", "output_tokens_details"],
                "reasoning_tokens",
            )
            .or_else(|| count(usage, &["reasoning_tokens"])),
        })
    }

    /// Takes a later report over an earlier one. Reports are cumulative or final, so they replace and never add up.
    pub(crate) fn replace_with(&mut self, later: Usage) {
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
        self.cached_input_tokens = later.cached_input_tokens.or(self.cached_input_tokens);
        self.reasoning_tokens = later.reasoning_tokens.or(self.reasoning_tokens);
    }
}

fn detail(usage: &Value, groups: &[&str], name: &str) -> Option<u64> {
    groups
        .iter()
        .find_map(|group| usage.get(group).and_then(|group| count(group, &[name])))
}

fn count(usage: &Value, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| whole_number(usage.get(name)?))
}

/// A count written as a number, a float or a string.
pub(crate) fn whole_number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| {
            number
                .as_f64()
                .filter(|n| *n >= 0.0 && n.is_finite())
                .map(|n| n as u64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn zeros_everywhere_mean_unknown() {
        assert_eq!(
            Usage::from_wire(
                &json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0})
            ),
            None
        );
        assert_eq!(Usage::from_wire(&json!({})), None);
        assert_eq!(Usage::from_wire(&json!("none")), None);
    }

    #[test]
    fn a_zero_beside_real_counts_is_a_count_only_where_zero_can_be_true() {
        let usage = Usage::from_wire(&json!({
            "prompt_tokens": 9, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}
        }));
        let expected = Usage {
            input_tokens: Some(9),
            cached_input_tokens: Some(0),
            ..Usage::default()
        };
        assert_eq!(usage, Some(expected));
    }

    #[test]
    fn deepseek_and_anthropic_names_are_known() {
        let deepseek = json!({"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 8,
            "prompt_cache_miss_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 3}});
        assert_eq!(
            Usage::from_wire(&deepseek),
            Some(Usage {
                input_tokens: Some(10),
                output_tokens: Some(5),
                cached_input_tokens: Some(8),
                reasoning_tokens: Some(3)
            })
        );
        let anthropic =
            json!({"input_tokens": 10.0, "output_tokens": "5", "cache_read_input_tokens": 4});
        assert_eq!(
            Usage::from_wire(&anthropic).and_then(|usage| usage.cached_input_tokens),
            Some(4)
        );
        assert_eq!(
            Usage::from_wire(&anthropic).and_then(|usage| usage.output_tokens),
            Some(5)
        );
    }
}
