//! Endpoints in the settings: the proxy's address, keyed and local servers, and their keys.

use egui::{RichText, Ui};
use host::settings::{EndpointAuth, EndpointSettings, SettingsEdit};
use host::{EndpointStatus, Intent};
use models::{EndpointKind, SecretString};
use url::Url;

use super::{SettingsContext, field_width, heading, row, secondary};
use crate::shell::status_bar::state_look;
use crate::theme::{Tokens, fonts::Families};
use crate::widgets::icons::{self, icon_button};
use crate::widgets::text_field::text_field;

/// What is being typed in the section on endpoints.
#[derive(Default)]
pub(super) struct EndpointsSection {
    sidecar_url: Option<String>,
    new_id: String,
    new_url: String,
    new_needs_key: bool,
    /// The endpoint whose key is being entered, and the key so far.
    key: Option<(String, String)>,
    problem: Option<String>,
}

impl EndpointsSection {
    pub(super) fn endpoints_ui(
        &mut self,
        ui: &mut Ui,
        tokens: &Tokens,
        context: &SettingsContext<'_>,
        intents: &mut Vec<Intent>,
    ) {
        heading(
            ui,
            tokens,
            "Endpoints",
            "Where seats get their answers: the subscription proxy (CLIProxyAPI), and any OpenAI-compatible server.",
        );
        self.sidecar_ui(ui, context, intents);
        for endpoint in context.endpoints {
            self.endpoint_ui(ui, tokens, endpoint, intents);
        }
        if !context.settings.subscriptions_only {
            self.add_ui(ui, tokens, context, intents);
        }
        if let Some(problem) = &self.problem {
            ui.label(RichText::new(problem).color(tokens.state.error));
        }
    }

    fn sidecar_ui(
        &mut self,
        ui: &mut Ui,
        context: &SettingsContext<'_>,
        intents: &mut Vec<Intent>,
    ) {
        let current = context.settings.sidecar.external_url.as_str();
        let mut text = self
            .sidecar_url
            .clone()
            .unwrap_or_else(|| current.to_owned());
        row(ui, "Subscription proxy", |ui, label| {
            let field = ui
                .add(text_field(&mut text).desired_width(field_width(ui, 300.0)))
                .labelled_by(label);
            if field.changed() {
                self.sidecar_url = Some(text.clone());
            }
            if field.lost_focus() && text != current {
                self.problem = match parse_address(&text) {
                    Ok(url) => {
                        intents.push(Intent::EditSettings(SettingsEdit::SidecarUrl(
                            url.to_string(),
                        )));
                        None
                    }
                    Err(problem) => Some(problem),
                };
                self.sidecar_url = None;
            }
        });
    }

    fn endpoint_ui(
        &mut self,
        ui: &mut Ui,
        tokens: &Tokens,
        endpoint: &EndpointStatus,
        intents: &mut Vec<Intent>,
    ) {
        let (color, icon, word) = state_look(endpoint.state, tokens);
        ui.horizontal_wrapped(|ui| {
            ui.label(icons::icon_text(icon, tokens).color(color));
            ui.label(RichText::new(&endpoint.id).family(Families::default().medium));
            let models = match endpoint.models.len() {
                0 => word.to_owned(),
                1 => format!("{word}, 1 model"),
                n => format!("{word}, {n} models"),
            };
            ui.label(RichText::new(models).color(tokens.text.secondary));
            if icon_button(
                ui,
                tokens,
                icons::RETRY,
                &format!("Check {} again", endpoint.id),
                None,
            )
            .clicked()
            {
                intents.push(Intent::CheckEndpoints(Some(endpoint.id.clone())));
            }
            if endpoint.kind == EndpointKind::Keyed {
                let label = if endpoint.has_key {
                    "Change key"
                } else {
                    "Enter key"
                };
                if ui.button(label).clicked() {
                    self.key = Some((endpoint.id.clone(), String::new()));
                }
                if endpoint.has_key && ui.button("Forget key").clicked() {
                    intents.push(Intent::RemoveKey(endpoint.id.clone()));
                }
                if icon_button(
                    ui,
                    tokens,
                    icons::TRASH,
                    &format!("Remove {}", endpoint.id),
                    None,
                )
                .clicked()
                {
                    intents.push(Intent::EditSettings(SettingsEdit::RemoveEndpoint(
                        endpoint.id.clone(),
                    )));
                }
            }
        });
        let detail = if endpoint.detail.is_empty() {
            &endpoint.url
        } else {
            &endpoint.detail
        };
        secondary(ui, tokens, detail);
        self.key_ui(ui, endpoint, intents);
        ui.add_space(tokens.metrics.space.related);
    }

    fn key_ui(&mut self, ui: &mut Ui, endpoint: &EndpointStatus, intents: &mut Vec<Intent>) {
        let Some((id, key)) = self.key.as_mut().filter(|(id, _)| *id == endpoint.id) else {
            return;
        };
        let mut done = false;
        ui.horizontal(|ui| {
            let field = ui.add(
                text_field(key)
                    .password(true)
                    .hint_text("Paste the key")
                    .desired_width(field_width(ui, 300.0)),
            );
            field.widget_info(|| {
                egui::WidgetInfo::labeled(egui::Role::TextInput, true, format!("Key for {id}"))
            });
            let entered = field.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
            if (ui.button("Store in the vault").clicked() || entered) && !key.trim().is_empty() {
                let secret = SecretString::new(key.trim().to_owned());
                intents.push(Intent::SetKey {
                    endpoint: id.clone(),
                    key: secret,
                });
                done = true;
            }
            done |= ui.button("Cancel").clicked();
        });
        if done {
            self.key = None;
        }
    }

    fn add_ui(
        &mut self,
        ui: &mut Ui,
        tokens: &Tokens,
        context: &SettingsContext<'_>,
        intents: &mut Vec<Intent>,
    ) {
        ui.add_space(tokens.metrics.space.related);
        ui.label(RichText::new("Add an endpoint").family(Families::default().medium));
        row(ui, "Name", |ui, label| {
            ui.add(
                text_field(&mut self.new_id)
                    .hint_text("local")
                    .desired_width(field_width(ui, 300.0)),
            )
            .labelled_by(label);
        });
        row(ui, "Address", |ui, label| {
            let hint = "http://127.0.0.1:8080/v1";
            ui.add(
                text_field(&mut self.new_url)
                    .hint_text(hint)
                    .desired_width(field_width(ui, 300.0)),
            )
            .labelled_by(label);
        });
        ui.checkbox(&mut self.new_needs_key, "It needs a key");
        if ui.button("Add endpoint").clicked() {
            self.problem = self.add(context, intents).err();
        }
    }

    fn add(
        &mut self,
        context: &SettingsContext<'_>,
        intents: &mut Vec<Intent>,
    ) -> Result<(), String> {
        let id = self.new_id.trim().to_owned();
        check_name(&id)?;
        if context
            .endpoints
            .iter()
            .any(|e| e.id.eq_ignore_ascii_case(&id))
        {
            return Err(format!("There is an endpoint called {id} already."));
        }
        let url = parse_address(&self.new_url)?;
        let auth = if self.new_needs_key {
            EndpointAuth::Vault
        } else {
            EndpointAuth::None
        };
        intents.push(Intent::EditSettings(SettingsEdit::PutEndpoint(
            EndpointSettings {
                id: id.clone(),
                url,
                auth,
            },
        )));
        if self.new_needs_key {
            self.key = Some((id, String::new()));
        }
        self.new_id.clear();
        self.new_url.clear();
        self.new_needs_key = false;
        Ok(())
    }
}

/// An address with `http` or `https`; without either, `http` is meant.
fn parse_address(text: &str) -> Result<Url, String> {
    let text = text.trim();
    let with_scheme = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    match Url::parse(&with_scheme) {
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            Err("The address must hold no name or password; a key is stored apart.".to_owned())
        }
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.host().is_some() => Ok(url),
        _ => Err(format!(
            "{text:?} is not an address; one looks like http://127.0.0.1:8080/v1"
        )),
    }
}

/// Names are what mentions and the settings file can hold.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let fits = !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    let reserved = ["user", "system", "all", "sidecar", "rehearsal"];
    if !fits {
        return Err("A name is made of letters, digits, _ and -.".to_owned());
    }
    if reserved.iter().any(|r| r.eq_ignore_ascii_case(name)) {
        return Err(format!(
            "The name {name} has a meaning of its own; choose another."
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_scheme_means_http() {
        assert_eq!(
            parse_address(" 127.0.0.1:8080/v1 ").unwrap().as_str(),
            "http://127.0.0.1:8080/v1"
        );
        assert!(parse_address("ftp://x").is_err());
        assert!(parse_address("").is_err());
        assert!(
            check_name("a b").is_err() && check_name("All").is_err() && check_name("gpt-5").is_ok()
        );
    }
}
