//! Who sits at the table: the seats of the settings, else one for each provider family that the endpoints
//! offer, else the demo table.

use std::collections::BTreeMap;

use conversation::Seat;
use models::{EndpointKind, ModelInfo, Profile};
use transcript::SeatId;

use crate::client_state::SeatOverride;
use crate::protocol::{EndpointState, EndpointStatus, SeatView};
use crate::settings::{ParticipantSettings, Settings};

/// What a seat of the demo table says of itself.
pub(crate) const DEMO_LABEL: &str = "Demo: scripted, not an AI";

/// The demo table: id, name, model.
const DEMO_SEATS: [(&str, &str, &str); 2] = [
    ("scout", "Scout", "demo-scout"),
    ("critic", "Critic", "demo-critic"),
];

/// The seats in the order of the table.
pub(crate) fn resolve(
    settings: &Settings,
    endpoints: &[EndpointStatus],
    overrides: &BTreeMap<String, SeatOverride>,
) -> Vec<SeatView> {
    if !settings.participants.is_empty() {
        return settings
            .participants
            .iter()
            .map(|p| from_settings(p, endpoints))
            .collect();
    }
    let derived = derived(endpoints, overrides);
    let of_demo = |e: &&EndpointStatus| e.kind == EndpointKind::Rehearsal;
    match endpoints.iter().find(of_demo) {
        Some(endpoint) if derived.is_empty() => demo(endpoint),
        _ => derived,
    }
}

/// Whether a demo endpoint is needed: named by a seat, or because there is no other seat.
pub(crate) fn needs_demo(settings: &Settings, endpoints: &[EndpointStatus]) -> bool {
    if !settings.participants.is_empty() {
        return settings
            .participants
            .iter()
            .any(|p| p.endpoint == "rehearsal");
    }
    let others = || {
        endpoints
            .iter()
            .filter(|e| e.kind != EndpointKind::Rehearsal)
    };
    others().all(|e| e.state != EndpointState::Checking && e.models.is_empty())
}

fn demo(endpoint: &EndpointStatus) -> Vec<SeatView> {
    let seat = |(id, name, model): &(&str, &str, &str)| {
        let mut seat = Seat::new(*id, *name, endpoint.id.as_str(), *model);
        apply_profile(&mut seat, endpoint);
        SeatView {
            seat,
            demo_label: Some(DEMO_LABEL),
            is_derived: true,
            variants: Vec::new(),
            warning: None,
        }
    };
    DEMO_SEATS.iter().map(seat).collect()
}

fn from_settings(participant: &ParticipantSettings, endpoints: &[EndpointStatus]) -> SeatView {
    let endpoint = endpoints.iter().find(|e| e.id == participant.endpoint);
    let listed = endpoint.and_then(|e| e.models.iter().find(|m| m.id == participant.model));
    let warning = match endpoint {
        None => Some(format!(
            "there is no endpoint called {}",
            participant.endpoint
        )),
        Some(e) if !e.models.is_empty() && listed.is_none() => Some(format!(
            "{} does not list the model {}",
            e.id, participant.model
        )),
        Some(_) => None,
    };
    let mut seat = Seat {
        color: participant.color.clone(),
        effort: participant.effort.clone(),
        system_prompt: participant.system_prompt.clone(),
        enabled: participant.enabled,
        context_window_tokens: listed.and_then(|m| m.context_length),
        ..Seat::new(
            participant.id.as_str(),
            participant.display_name.as_str(),
            participant.endpoint.as_str(),
            participant.model.as_str(),
        )
    };
    if let Some(endpoint) = endpoint {
        apply_profile(&mut seat, endpoint);
    }
    let is_demo = endpoint.is_some_and(|e| e.kind == EndpointKind::Rehearsal);
    SeatView {
        seat,
        demo_label: is_demo.then_some(DEMO_LABEL),
        is_derived: false,
        variants: Vec::new(),
        warning,
    }
}

fn apply_profile(seat: &mut Seat, endpoint: &EndpointStatus) {
    if let Ok(url) = url::Url::parse(&endpoint.url) {
        let profile = Profile::of(endpoint.kind, &url);
        seat.merge_same_role = profile.merge_same_role;
        seat.single_system_message = profile.single_system_message;
    }
}

/// One seat for each provider family of each endpoint, in the order of the endpoints.
fn derived(
    endpoints: &[EndpointStatus],
    overrides: &BTreeMap<String, SeatOverride>,
) -> Vec<SeatView> {
    let mut views: Vec<SeatView> = Vec::new();
    for endpoint in endpoints
        .iter()
        .filter(|e| e.kind != EndpointKind::Rehearsal)
    {
        for family in models::suggest_seats(&endpoint.models) {
            let Some(first) = family.models.first() else {
                continue;
            };
            let id = free_id(&family.id, endpoint, &views);
            let chosen = overrides.get(&id).cloned().unwrap_or_default();
            let listed = |model: &String| family.models.iter().find(|m| m.id == *model);
            let model: &ModelInfo = chosen.model.as_ref().and_then(listed).unwrap_or(first);
            let mut seat = Seat {
                effort: chosen.effort,
                context_window_tokens: model.context_length,
                ..Seat::new(
                    id.as_str(),
                    family.display_name.as_str(),
                    endpoint.id.as_str(),
                    model.id.as_str(),
                )
            };
            apply_profile(&mut seat, endpoint);
            views.push(SeatView {
                seat,
                demo_label: None,
                is_derived: true,
                variants: family.models.iter().map(|m| m.id.clone()).collect(),
                warning: None,
            });
        }
    }
    views
}

/// The family's name, with the endpoint's where another endpoint has a seat of that family.
fn free_id(family: &str, endpoint: &EndpointStatus, taken: &[SeatView]) -> String {
    let is_taken = |id: &str| taken.iter().any(|v| v.seat.id == SeatId::from(id));
    if is_taken(family) {
        format!("{family}-{}", endpoint.id)
    } else {
        family.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(id: &str, kind: EndpointKind, models: &[&str]) -> EndpointStatus {
        EndpointStatus {
            id: id.into(),
            kind,
            url: "http://127.0.0.1:1/v1".into(),
            state: EndpointState::Green,
            detail: String::new(),
            models: models
                .iter()
                .map(|id| ModelInfo {
                    id: (*id).into(),
                    owned_by: String::new(),
                    context_length: Some(8192),
                })
                .collect(),
            has_key: false,
        }
    }

    #[test]
    fn without_settings_each_family_has_a_seat_and_an_override_changes_its_model() {
        let sidecar = endpoint(
            "sidecar",
            EndpointKind::Sidecar,
            &["claude-opus-4-8", "claude-haiku-4", "gpt-5.5"],
        );
        let local = endpoint("local", EndpointKind::Keyed, &["gpt-5.5-mini"]);
        let chosen = SeatOverride {
            model: Some("claude-haiku-4".into()),
            effort: Some("low".into()),
        };
        let overrides = BTreeMap::from([("claude".to_owned(), chosen)]);
        let views = resolve(&Settings::default(), &[sidecar, local], &overrides);
        let ids: Vec<&str> = views.iter().map(|v| v.seat.id.as_str()).collect();
        assert_eq!(ids, ["claude", "gpt", "gpt-local"]);
        assert_eq!(views[0].seat.model, "claude-haiku-4");
        assert_eq!(views[0].seat.effort.as_deref(), Some("low"));
        assert_eq!(views[0].variants.len(), 2);
        assert_eq!(views[1].seat.context_window_tokens, Some(8192));
    }

    #[test]
    fn the_demo_table_opens_only_when_nobody_else_sits_there() {
        let settings = Settings::default();
        let dead = endpoint("sidecar", EndpointKind::Sidecar, &[]);
        let demo = endpoint(
            "rehearsal",
            EndpointKind::Rehearsal,
            &["demo-scout", "demo-critic"],
        );
        assert!(needs_demo(&settings, std::slice::from_ref(&dead)));
        let views = resolve(&settings, &[dead, demo.clone()], &BTreeMap::new());
        assert_eq!(views.len(), 2);
        assert!(views.iter().all(|v| v.demo_label == Some(DEMO_LABEL)));
        let live = endpoint("sidecar", EndpointKind::Sidecar, &["claude-opus-4-8"]);
        assert!(!needs_demo(&settings, std::slice::from_ref(&live)));
        assert_eq!(resolve(&settings, &[live, demo], &BTreeMap::new()).len(), 1);
    }

    #[test]
    fn a_configured_seat_warns_when_its_endpoint_or_model_is_unknown() {
        let mut settings = Settings::default();
        let text = "[[participants]]\nid=\"a\"\nmodel=\"m\"\n[[participants]]\nid=\"b\"\nmodel=\"m\"\nendpoint=\"gone\"\n";
        crate::settings::read_layer(
            &mut settings,
            text,
            std::path::Path::new("s"),
            crate::settings::Layer::User,
        );
        let sidecar = endpoint("sidecar", EndpointKind::Sidecar, &["claude-opus-4-8"]);
        let views = resolve(&settings, &[sidecar], &BTreeMap::new());
        assert!(views[0].warning.as_ref().unwrap().contains("does not list"));
        assert!(views[1].warning.as_ref().unwrap().contains("no endpoint"));
        assert!(
            views.iter().all(|v| v.seat.enabled),
            "a warning doesn't keep a seat from answering"
        );
    }
}
