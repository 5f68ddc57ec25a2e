//! Families of models: one seat each, whichever of its models answers.

use crate::model_list::ModelInfo;

/// The family a model belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Family {
    /// Lower case, fit for a mention: `claude`.
    pub id: String,
    /// As people write it: `Claude`.
    pub display_name: String,
}

/// A seat that an endpoint's live model list suggests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestedSeat {
    /// The seat's id: the family's, with the owner's where two owners offer the same models.
    pub id: String,
    /// Its name, with the owner's in the same case.
    pub display_name: String,
    /// Its family.
    pub family: Family,
    /// The models it may use, the strongest and newest first. Never empty.
    pub models: Vec<ModelInfo>,
}

/// A known family: id, name, and the words that its models' ids begin with.
type Known = (&'static str, &'static str, &'static [&'static str]);

/// In the order in which seats are laid.
const KNOWN: [Known; 20] = [
    ("claude", "Claude", &["claude"]),
    ("gpt", "GPT", &["gpt", "chatgpt", "codex", "o1", "o3", "o4"]),
    ("gemini", "Gemini", &["gemini"]),
    ("deepseek", "DeepSeek", &["deepseek"]),
    ("grok", "Grok", &["grok"]),
    ("kimi", "Kimi", &["kimi", "moonshot"]),
    ("qwen", "Qwen", &["qwen", "qwq"]),
    ("glm", "GLM", &["glm", "chatglm"]),
    ("minimax", "MiniMax", &["minimax", "abab"]),
    (
        "mistral",
        "Mistral",
        &[
            "mistral",
            "ministral",
            "magistral",
            "codestral",
            "devstral",
            "mixtral",
            "pixtral",
        ],
    ),
    ("llama", "Llama", &["llama", "meta-llama", "codellama"]),
    ("gemma", "Gemma", &["gemma", "codegemma"]),
    ("phi", "Phi", &["phi"]),
    ("command", "Command", &["command", "c4ai"]),
    ("nemotron", "Nemotron", &["nemotron"]),
    ("granite", "Granite", &["granite"]),
    ("ernie", "ERNIE", &["ernie"]),
    ("hunyuan", "Hunyuan", &["hunyuan"]),
    ("doubao", "Doubao", &["doubao"]),
    ("nova", "Nova", &["nova"]),
];

/// Words in the id of a model that doesn't chat.
const NO_CHAT: [&str; 16] = [
    "embedding",
    "embed",
    "whisper",
    "tts",
    "dall",
    "image",
    "imagen",
    "audio",
    "realtime",
    "moderation",
    "transcribe",
    "rerank",
    "reranker",
    "sora",
    "video",
    "guard",
];

/// Words in the id of a family's smaller models.
const SMALL: [&str; 10] = [
    "mini", "nano", "lite", "small", "flash", "haiku", "fast", "instant", "tiny", "air",
];

/// Words in the id of a family's largest models.
const LARGE: [&str; 6] = ["opus", "pro", "max", "ultra", "large", "heavy"];

impl Family {
    /// The family of a model id: a known one, or for a local model its name without version and size.
    pub fn of(model: &str) -> Family {
        let name = base_name(model);
        let known = KNOWN
            .iter()
            .find(|(_, _, begins)| begins.iter().any(|begin| begins_with(&name, begin)));
        if let Some((id, display_name, _)) = known {
            return Family {
                id: (*id).to_owned(),
                display_name: (*display_name).to_owned(),
            };
        }
        let words: Vec<&str> = words(&name)
            .take_while(|word| !begins_with_digit(word))
            .collect();
        let id = if words.is_empty() {
            mention(&name)
        } else {
            words.join("-")
        };
        Family {
            display_name: capitalised(&id),
            id,
        }
    }

    fn place(&self) -> usize {
        KNOWN
            .iter()
            .position(|(id, ..)| *id == self.id)
            .unwrap_or(KNOWN.len())
    }
}

/// One seat per family of the list, known families first. Models that don't chat are left out.
///
/// Where two owners offer a model of the same id (a subscription and a reseller of it), their seats are apart and carry
/// the owner's name, because who answers and who is billed differ.
pub fn suggest_seats(models: &[ModelInfo]) -> Vec<SuggestedSeat> {
    let mut families: Vec<(Family, Vec<ModelInfo>)> = Vec::new();
    for model in models.iter().filter(|model| chats(&model.id)) {
        let family = Family::of(&model.id);
        match families.iter_mut().find(|(other, _)| *other == family) {
            Some((_, members)) => members.push(model.clone()),
            None => families.push((family, vec![model.clone()])),
        }
    }
    families.sort_by_key(|(family, _)| family.place());
    families
        .into_iter()
        .flat_map(|(family, members)| seats_of(&family, members))
        .collect()
}

fn seats_of(family: &Family, members: Vec<ModelInfo>) -> Vec<SuggestedSeat> {
    let shared = |model: &ModelInfo| {
        members
            .iter()
            .any(|other| other.id == model.id && other.owned_by != model.owned_by)
    };
    if !members.iter().any(shared) {
        return vec![seat(family, None, members)];
    }
    let mut owners: Vec<(String, Vec<ModelInfo>)> = Vec::new();
    for model in members {
        match owners
            .iter_mut()
            .find(|(owner, _)| *owner == model.owned_by)
        {
            Some((_, models)) => models.push(model),
            None => owners.push((model.owned_by.clone(), vec![model])),
        }
    }
    owners
        .into_iter()
        .map(|(owner, models)| seat(family, Some(&owner), models))
        .collect()
}

fn seat(family: &Family, owner: Option<&str>, mut models: Vec<ModelInfo>) -> SuggestedSeat {
    models.sort_by(|a, b| rank(&b.id).cmp(&rank(&a.id)).then_with(|| a.id.cmp(&b.id)));
    models.dedup_by(|a, b| a.id == b.id);
    let owner = owner.filter(|owner| !owner.is_empty());
    SuggestedSeat {
        id: owner.map_or_else(
            || family.id.clone(),
            |owner| format!("{}-{}", family.id, mention(owner)),
        ),
        display_name: owner.map_or_else(
            || family.display_name.clone(),
            |owner| format!("{} ({})", family.display_name, capitalised(owner)),
        ),
        family: family.clone(),
        models,
    }
}

/// How strong and new a model is, by its name: small ones last, then the tier above, then version, size word, date.
fn rank(model: &str) -> (u8, Vec<u32>, bool, u32) {
    let name = base_name(model);
    let has = |list: &[&str]| words(&name).any(|word| list.contains(&word));
    let tier = match () {
        () if has(&SMALL) => 0,
        // Among Claude's names the tier says more than the number.
        () if words(&name).any(|word| word == "opus") => 2,
        () => 1,
    };
    let (version, date) = version_of(&name);
    (tier, version, has(&LARGE), date)
}

/// The version numbers in a name, and its date or build. Sizes (`70b`, `a22b`) are neither.
fn version_of(name: &str) -> (Vec<u32>, u32) {
    let mut version = Vec::new();
    let mut date = 0;
    for word in name.split(['-', '_', ':', '.', '@']) {
        // `v4`, `k3`, `qwen3`, `4o`
        let digits = word.trim_matches(|c: char| !c.is_ascii_digit());
        let after = word.trim_end_matches(|c: char| !c.is_ascii_digit()).len();
        let Ok(number) = digits.parse::<u32>() else {
            continue;
        };
        match &word[after..] {
            "b" | "m" | "k" | "t" => {}
            _ if digits.len() >= 3 => date = date.max(number),
            _ => version.push(number),
        }
    }
    (version, date)
}

fn chats(model: &str) -> bool {
    let name = base_name(model);
    !words(&name).any(|word| NO_CHAT.contains(&word))
}

/// The model's own name: without its vendor's folder, file ending and effort suffix, in lower case.
fn base_name(model: &str) -> String {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.split('(').next().unwrap_or(name);
    let lower = name.trim().to_ascii_lowercase();
    lower
        .trim_end_matches(".gguf")
        .trim_end_matches(":latest")
        .to_owned()
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
}

/// Whether a name begins with a word, not merely with its letters: `phi-4` and `phi4` are Phi, `philosopher` is not.
fn begins_with(name: &str, begin: &str) -> bool {
    name.strip_prefix(begin)
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

fn begins_with_digit(word: &str) -> bool {
    let rest = word.strip_prefix('v').unwrap_or(word);
    rest.starts_with(|c: char| c.is_ascii_digit())
}

/// A form that a mention can spell: letters, digits, `_` and `-`.
fn mention(name: &str) -> String {
    let id = words(name)
        .collect::<Vec<_>>()
        .join("-")
        .to_ascii_lowercase();
    if id.is_empty() {
        "model".to_owned()
    } else {
        id
    }
}

fn capitalised(name: &str) -> String {
    let mut chars = name.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(models: &[(&str, &str)]) -> Vec<ModelInfo> {
        let info = |(id, owned_by): &(&str, &str)| ModelInfo {
            id: (*id).to_owned(),
            owned_by: (*owned_by).to_owned(),
            context_length: None,
        };
        models.iter().map(info).collect()
    }

    #[track_caller]
    fn best(models: &[&str], expected: &str) {
        let models: Vec<(&str, &str)> = models.iter().map(|id| (*id, "x")).collect();
        let seats = suggest_seats(&list(&models));
        assert_eq!(seats.len(), 1);
        assert_eq!(seats[0].models[0].id, expected);
    }

    #[test]
    fn a_models_family_is_known_by_its_name() {
        for (model, id, display_name) in [
            ("claude-opus-4-8", "claude", "Claude"),
            ("anthropic/claude-sonnet-5", "claude", "Claude"),
            ("gpt-5.6-sol(high)", "gpt", "GPT"),
            ("o3-mini", "gpt", "GPT"),
            ("gemini-3-pro", "gemini", "Gemini"),
            ("deepseek-v4-pro", "deepseek", "DeepSeek"),
            ("Qwen/Qwen3-235B-A22B", "qwen", "Qwen"),
            ("grok-4.6", "grok", "Grok"),
            ("kimi-k3", "kimi", "Kimi"),
            ("phi4:14b", "phi", "Phi"),
            ("philosopher-7b", "philosopher", "Philosopher"),
            ("my-finetune-v2-7b.gguf", "my-finetune", "My-finetune"),
            ("7b", "7b", "7b"),
            ("日本", "model", "Model"),
        ] {
            let family = Family::of(model);
            assert_eq!(
                (family.id.as_str(), family.display_name.as_str()),
                (id, display_name),
                "{model}"
            );
        }
    }

    #[test]
    fn the_strongest_and_newest_comes_first() {
        best(
            &[
                "claude-sonnet-5",
                "claude-opus-4-5",
                "claude-haiku-5",
                "claude-opus-4-8",
            ],
            "claude-opus-4-8",
        );
        best(
            &["claude-opus-4-5-20251101", "claude-opus-4-5-20251001"],
            "claude-opus-4-5-20251101",
        );
        best(
            &["gpt-4o", "gpt-5.5", "gpt-5.6-sol", "gpt-5-mini", "o3"],
            "gpt-5.6-sol",
        );
        best(
            &["gemini-3-flash", "gemini-2.5-pro", "gemini-3-pro"],
            "gemini-3-pro",
        );
        best(&["deepseek-flash", "deepseek-v4-pro"], "deepseek-v4-pro");
        best(&["qwen2.5-72b-instruct", "qwen3-8b"], "qwen3-8b");
        best(&["kimi-k2", "kimi-k3", "kimi-k2-0905"], "kimi-k3");
        best(&["grok-4.6", "grok-code-fast-1", "grok-4"], "grok-4.6");
    }

    #[test]
    fn one_seat_a_family_in_a_steady_order_without_what_does_not_chat() {
        let seats = suggest_seats(&list(&[
            ("my-model", "me"),
            ("gpt-5.5", "openai"),
            ("text-embedding-3-large", "openai"),
            ("gpt-image-2", "openai"),
            ("gpt-4o", "system"),
            ("claude-sonnet-5", "anthropic"),
        ]));
        let ids: Vec<&str> = seats.iter().map(|seat| seat.id.as_str()).collect();
        assert_eq!(ids, ["claude", "gpt", "my-model"]);
        assert_eq!(seats[1].models.len(), 2);
        assert_eq!(suggest_seats(&[]), []);
    }

    #[test]
    fn an_id_that_two_owners_offer_makes_two_seats() {
        let seats = suggest_seats(&list(&[
            ("claude-sonnet-5", "antigravity"),
            ("claude-sonnet-5", "anthropic"),
            ("claude-opus-4-8", "anthropic"),
            ("gemini-3-pro", "antigravity"),
        ]));
        let names: Vec<(&str, &str)> = seats
            .iter()
            .map(|seat| (seat.id.as_str(), seat.display_name.as_str()))
            .collect();
        assert_eq!(
            names,
            [
                ("claude-antigravity", "Claude (Antigravity)"),
                ("claude-anthropic", "Claude (Anthropic)"),
                ("gemini", "Gemini")
            ]
        );
        assert_eq!(seats[1].models[0].id, "claude-opus-4-8");
    }
}
