//! OpenAPI documents as tools: names, inputs, outputs and what is left out, by table; requests against a server of the
//! test's own.

#![allow(
    clippy::needless_pass_by_value,
    reason = "the tables read better with values than with references"
)]

use codemode::openapi::{
    Api, Credential, Credentials, HttpTransport, Options, Request, Response, Scheme, SchemeKind,
    Transport, TransportError, from_spec,
};
use codemode::{CancelFlag, Limits, Outcome, Runtime, ToolSet};
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

fn document(paths: Value) -> Value {
    json!({ "openapi": "3.1.0", "servers": [{ "url": "https://api.test/v1" }], "paths": paths })
}

fn read(spec: &Value) -> Api {
    from_spec(spec, &Options::default()).unwrap()
}

fn one(operation: Value) -> Api {
    read(&document(json!({ "/x": { "post": operation } })))
}

fn input(operation: Value) -> Value {
    let mut api = one(operation);
    assert_eq!(api.skipped, []);
    api.tools.remove(0).input.unwrap()
}

fn output(operation: Value) -> Value {
    one(operation).tools.remove(0).output.unwrap()
}

fn reason(operation: Value) -> String {
    let mut api = one(operation);
    assert!(api.tools.is_empty());
    api.skipped.remove(0).reason
}

#[test]
fn names_come_from_identifiers_or_from_method_and_path() {
    let get = |id: Option<&str>| match id {
        Some(id) => json!({ "operationId": id }),
        None => json!({}),
    };
    let mut api = read(&document(json!({
        "/a": { "get": get(Some("users.list")), "post": get(Some("users.create-one")), "put": get(Some("2nd way!")) },
        "/users/{id}/posts": { "get": get(None), "parameters": [{ "in": "path", "name": "id" }] },
        "/b": { "get": get(Some("users")), "put": get(Some("users.list.all")), "post": get(Some("users.list")), "delete": get(Some("users.list")) },
        "/c": { "get": get(Some("solo")), "put": get(Some("solo")), "post": get(Some("solo")), "patch": get(Some("...")) },
    })));
    api.tools.sort_by(|a, b| a.path.cmp(&b.path));
    let names: Vec<&str> = api.tools.iter().map(|t| t.path.as_str()).collect();
    assert_eq!(
        names,
        [
            "_2nd_way",
            "getUsersByIdPosts",
            "patchC",
            "solo",
            "solo_2",
            "solo_3",
            "users.create_one",
            "users.list",
            "users.list_all",
            "users_2",
            "users_list",
            "users_list_2",
        ]
    );
    assert!(ToolSet::new(api.tools, Default::default()).is_ok());
}

#[test]
fn servers_are_absolute_and_plain_or_the_operation_is_skipped() {
    let with = |url: Value| {
        let spec = json!({ "openapi": "3.0.3", "servers": [{ "url": url }], "paths": { "/x": { "get": {} } } });
        read(&spec).skipped.first().map(|s| s.reason.clone())
    };
    assert_eq!(with(json!("http://h:8080/base")), None);
    for (url, why) in [
        ("/relative", "absolute"),
        ("ftp://h", "absolute"),
        ("https://{host}/x", "template"),
        ("https://h/?a=1", "query"),
        ("https://h/#f", "fragment"),
        ("https://u:p@h/", "credentials"),
    ] {
        assert!(with(json!(url)).unwrap().contains(why), "{url}");
    }
    let none = json!({ "openapi": "3.0.3", "paths": { "/x": { "get": {} } } });
    assert!(read(&none).skipped[0].reason.contains("no server"));
    let options = Options {
        base_url: Some("https://own.test".into()),
        namespace: Some("own".into()),
        ..Options::default()
    };
    assert_eq!(
        from_spec(&none, &options).unwrap().tools[0].path,
        "own.getX"
    );
    let nearer = json!({ "openapi": "3.0.3", "servers": [{ "url": "bad" }], "paths": { "/x": {
        "servers": [{ "url": "https://path.test" }], "get": {}, "put": { "servers": [{ "url": "/bad" }] } } } });
    assert_eq!(
        (read(&nearer).tools.len(), read(&nearer).skipped.len()),
        (1, 1)
    );
}

#[test]
fn documents_of_other_versions_are_refused() {
    for spec in [
        json!({ "swagger": "2.0", "paths": {} }),
        json!({ "openapi": "3.2.0", "paths": {} }),
        json!({ "openapi": "3.1.0" }),
        json!(1),
    ] {
        assert!(from_spec(&spec, &Options::default()).is_err(), "{spec}");
    }
}

#[test]
fn what_cannot_be_written_or_read_is_skipped_with_its_reason() {
    let parameter = |p: Value| json!({ "parameters": [p] });
    let responses = |content: Value| json!({ "responses": { "200": { "content": content } } });
    for (operation, why) in [
        (
            parameter(json!({ "in": "cookie", "name": "c" })),
            "'c' is a cookie",
        ),
        (
            parameter(json!({ "in": "query", "name": "c", "content": {} })),
            "content",
        ),
        (
            parameter(json!({ "in": "query", "name": "c", "allowReserved": true })),
            "reserved",
        ),
        (
            parameter(json!({ "in": "query", "name": "c", "style": "pipeDelimited" })),
            "pipeDelimited",
        ),
        (
            parameter(
                json!({ "in": "query", "name": "c", "style": "deepObject", "explode": false }),
            ),
            "deepObject",
        ),
        (
            parameter(json!({ "in": "header", "name": "c", "style": "form" })),
            "form",
        ),
        (parameter(json!({ "$ref": "#/nowhere" })), "nowhere"),
        (parameter(json!({ "$ref": "other.json#/x" })), "nowhere"),
        (
            json!({ "requestBody": { "content": { "multipart/form-data": {} } } }),
            "no JSON form",
        ),
        (json!({ "requestBody": {} }), "no JSON form"),
        (
            responses(json!({ "text/event-stream": {} })),
            "stream of events",
        ),
        (
            responses(json!({ "application/octet-stream": {} })),
            "application/octet-stream",
        ),
        (
            responses(json!({ "image/png": {}, "text/plain": {} })),
            "image/png",
        ),
        (json!({ "x-websocket": true }), "WebSocket"),
        (json!({ "security": "none" }), "isn't a list"),
        (
            json!({ "security": [{ "missing": [] }] }),
            "'missing' isn't described",
        ),
        (json!({ "security": [1] }), "malformed"),
    ] {
        let told = reason(operation.clone());
        assert!(told.contains(why), "{operation}: {told}");
    }
    let api = read(&document(json!({ "/x/{id}": { "get": {} } })));
    assert!(api.skipped[0].reason.contains("'id' isn't described"));
    assert_eq!(
        (api.skipped[0].method.as_str(), api.skipped[0].path.as_str()),
        ("GET", "/x/{id}")
    );
}

#[test]
fn parameters_become_fields_and_names_that_clash_get_their_place() {
    let spec = document(json!({ "/x/{id}": {
        "parameters": [{ "in": "path", "name": "id", "schema": { "type": "string" } }, { "in": "query", "name": "q", "schema": { "type": "string" } }],
        "put": { "parameters": [
            { "in": "query", "name": "id", "required": true, "schema": { "type": "integer" }, "description": "Which" },
            { "in": "query", "name": "q", "schema": { "type": "number" } },
            { "in": "header", "name": "Accept" }, { "in": "header", "name": "authorization" }, { "in": "header", "name": "X-A" },
            { "in": "query", "name": "path_id" }] } } }));
    let api = read(&spec);
    let input = api.tools[0].input.as_ref().unwrap();
    let names: Vec<&String> = input["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["path_id_2", "q", "query_id", "X-A", "path_id"]);
    assert_eq!(input["required"], json!(["path_id_2", "query_id"]));
    assert_eq!(input["properties"]["q"], json!({ "type": "number" }));
    assert_eq!(
        input["properties"]["query_id"],
        json!({ "type": "integer", "description": "Which" })
    );
    assert_eq!(input["additionalProperties"], json!(false));
}

#[test]
fn a_closed_required_body_is_flattened_and_any_other_is_one_field() {
    let body = |schema: Value, required: bool| {
        input(
            json!({ "requestBody": { "required": required, "content": { "application/vnd.api+json; charset=utf-8": { "schema": schema } } } }),
        )
    };
    let closed = json!({ "type": "object", "additionalProperties": false, "required": ["a"], "properties": { "a": { "type": "string" }, "b": {} } });
    let flat = body(closed.clone(), true);
    assert_eq!(
        (
            flat["properties"].as_object().unwrap().len(),
            flat["required"].clone()
        ),
        (2, json!(["a"]))
    );
    let mut open = closed.clone();
    open.as_object_mut().unwrap().remove("additionalProperties");
    let mut nullable = closed.clone();
    nullable["nullable"] = json!(true);
    let mut composed = closed.clone();
    composed["allOf"] = json!([{}]);
    for (schema, required) in [
        (closed, false),
        (open, true),
        (nullable, true),
        (composed, true),
        (json!({ "type": "array" }), true),
        (json!({}), true),
    ] {
        let whole = body(schema.clone(), required);
        let names: Vec<&String> = whole["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["body"], "{schema}");
        assert_eq!(whole.get("required").is_some(), required);
    }
}

#[test]
fn read_only_properties_are_not_sent_and_write_only_ones_not_received() {
    let spec = json!({ "openapi": "3.0.0", "servers": [{ "url": "https://a.test" }],
        "components": { "schemas": {
            "Id": { "type": "string", "readOnly": true },
            "User": { "type": "object", "required": ["id", "secret", "name"], "additionalProperties": false, "properties": {
                "id": { "$ref": "#/components/schemas/Id" }, "name": { "type": "string", "nullable": true, "example": "x" },
                "secret": { "type": "string", "writeOnly": true }, "boss": { "$ref": "#/components/schemas/User" },
                "age": { "type": "integer", "minimum": 0, "exclusiveMinimum": true } } } } },
        "paths": { "/x": { "post": {
            "requestBody": { "required": true, "content": { "application/json": { "schema": { "$ref": "#/components/schemas/User" } } } },
            "responses": { "201": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/User" } } } } } } } } });
    let api = read(&spec);
    let input = api.tools[0].input.as_ref().unwrap();
    let names: Vec<&String> = input["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["name", "secret", "boss", "age"]);
    assert_eq!(input["required"], json!(["name", "secret"]));
    assert_eq!(
        input["properties"]["name"],
        json!({ "type": ["string", "null"] })
    );
    assert_eq!(
        input["properties"]["age"],
        json!({ "type": "integer", "exclusiveMinimum": 0 })
    );
    assert_eq!(
        input["$defs"]["User"]["required"],
        json!(["secret", "name"])
    );
    assert!(input["$defs"]["User"]["properties"].get("id").is_none());
    let output = api.tools[0].output.as_ref().unwrap();
    assert_eq!(output["$ref"], json!("#/$defs/User"));
    let user = &output["$defs"]["User"];
    assert!(
        user["properties"].get("secret").is_none()
            && user["properties"]["id"] == json!({ "$ref": "#/$defs/Id" })
    );
    let set = ToolSet::new(api.tools, Default::default()).unwrap();
    let signature = &set.catalog(true)[0].signature;
    assert!(
        signature.contains("name: string | null") && !signature.contains("=> {}"),
        "{signature}"
    );
}

#[test]
fn answers_are_told_by_their_media_and_status() {
    let json_of =
        |n: i32| json!({ "content": { "application/json": { "schema": { "const": n } } } });
    assert_eq!(output(json!({})), json!({}));
    assert_eq!(
        output(json!({ "responses": { "204": {}, "404": json_of(4), "default": json_of(5) } })),
        json!({ "type": "null" })
    );
    assert_eq!(
        output(json!({ "responses": { "200": { "content": { "text/plain": {} } } } })),
        json!({ "type": "string" })
    );
    assert_eq!(
        output(
            json!({ "responses": { "200": json_of(1), "202": json_of(1), "2XX": json_of(2), "204": {} } })
        ),
        json!({ "anyOf": [{ "const": 1 }, { "const": 2 }, { "type": "null" }] })
    );
}

// ---- Requests ----

/// Method, address, header fields and body.
type Sent = (String, String, String, String);

/// Keeps requests and answers from a list.
#[derive(Clone, Default)]
struct Fake {
    seen: Arc<Mutex<Vec<Sent>>>,
    answers: Arc<Mutex<Vec<Result<Response, TransportError>>>>,
}

fn response(status: u16, media: &str, body: &str) -> Response {
    Response {
        status,
        headers: vec![("Content-Type".into(), media.into())],
        body: body.into(),
    }
}

impl Transport for Fake {
    fn send(&self, request: Request) -> BoxFuture<'static, Result<Response, TransportError>> {
        let headers: Vec<String> = request
            .headers
            .iter()
            .map(|(k, v)| format!("{k}: {v}"))
            .collect();
        let body = String::from_utf8(request.body.unwrap_or_default()).unwrap();
        self.seen.lock().unwrap().push((
            request.method,
            request.url.to_string(),
            headers.join("\n"),
            body,
        ));
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.is_empty() {
            Ok(response(200, "application/json", "{\"fine\":true}"))
        } else {
            answers.remove(0)
        };
        async { answer }.boxed()
    }
}

struct Vault;

impl Credentials for Vault {
    fn resolve(&self, tool: &str, scheme: &Scheme) -> BoxFuture<'static, Option<Credential>> {
        assert!(!tool.is_empty());
        let credential = match (scheme.name.as_str(), &scheme.kind) {
            ("none", _) => None,
            ("wrong", _) => Some(Credential::Password {
                user: "u".into(),
                password: "pw".into(),
            }),
            ("custom", _) => Some(Credential::Header {
                name: "X-Custom".into(),
                value: "custom-secret".into(),
            }),
            (_, SchemeKind::Bearer | SchemeKind::OAuth2 | SchemeKind::OpenIdConnect) => Some(
                Credential::Token(format!("token-{}", scheme.scopes.join("+"))),
            ),
            (_, SchemeKind::Basic) => Some(Credential::Password {
                user: "ann".into(),
                password: "pass-word".into(),
            }),
            (_, SchemeKind::ApiKeyHeader(_) | SchemeKind::ApiKeyQuery(_)) => {
                Some(Credential::Key("key secret&".into()))
            }
        };
        async { credential }.boxed()
    }
}

fn run(api: &Api, fake: &Fake, source: &str) -> Outcome {
    let tools = ToolSet::new(api.tools.clone(), Default::default()).unwrap();
    let host = api
        .host(Arc::new(fake.clone()))
        .with_credentials(Arc::new(Vault))
        .with_headers(vec![
            ("User-Agent".into(), "test".into()),
            ("X-Host".into(), "Key host-secret".into()),
        ]);
    assert!(host.has(&api.tools[0].path) && !host.has("other"));
    let runtime = Runtime::new(tools, Limits::default());
    block(runtime.execute(source, &host, &CancelFlag::default())).unwrap()
}

fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn schema(name: &str, place: &str, more: Value) -> Value {
    let mut parameter = json!({ "in": place, "name": name });
    for (key, value) in more.as_object().unwrap() {
        parameter[key] = value.clone();
    }
    parameter
}

#[test]
fn every_style_of_parameter_is_written_as_openapi_says() {
    let parameter = |p: Value| {
        let spec = document(
            json!({ "/a/{p}/z": { "get": { "operationId": "t", "parameters": [p, { "in": "path", "name": "p" }] } } }),
        );
        read(&spec)
    };
    let url = |more: Value, value: &str| {
        let api = parameter(schema("q", "query", more));
        let fake = Fake::default();
        let outcome = run(
            &api,
            &fake,
            &format!("await tools.t({{ p: 'x', q: {value} }})"),
        );
        match outcome.result {
            Ok(_) => fake.seen.lock().unwrap()[0]
                .1
                .replace("https://api.test/v1/a/x/z", ""),
            Err(error) => error.message,
        }
    };
    for (more, value, expected) in [
        (
            json!({}),
            "'a b&c=d/é!\\'()*'",
            "?q=a%20b%26c%3Dd%2F%C3%A9%21%27%28%29%2A",
        ),
        (json!({}), "[1, 'b,c', true]", "?q=1&q=b%2Cc&q=true"),
        (json!({ "explode": false }), "[1, 'b,c']", "?q=1,b%2Cc"),
        (json!({}), "{ a: 1, b: 'x y', n: null }", "?a=1&b=x%20y"),
        (json!({ "explode": false }), "{ a: 1, b: 2 }", "?q=a,1,b,2"),
        (
            json!({ "style": "deepObject" }),
            "{ a: 1, 'b]': 2 }",
            "?q[a]=1&q[b%5D]=2",
        ),
        (json!({}), "null", ""),
        (json!({}), "undefined", ""),
        (json!({}), "1e21", "?q=1e%2B21"),
    ] {
        assert_eq!(url(more.clone(), value), expected, "{more} {value}");
    }
    for value in ["[[1]]", "{ a: { b: 1 } }", "[{}]"] {
        assert!(url(json!({}), value).contains("nested too deep"), "{value}");
    }
    let path = |value: &str| {
        let api = parameter(schema("h", "header", json!({})));
        let fake = Fake::default();
        let outcome = run(&api, &fake, &format!("await tools.t({value})"));
        match outcome.result {
            Ok(_) => fake.seen.lock().unwrap()[0]
                .1
                .replace("https://api.test/v1", ""),
            Err(error) => {
                assert!(fake.seen.lock().unwrap().is_empty());
                error.message
            }
        }
    };
    assert_eq!(path("{ p: 'a/../b?c#d' }"), "/a/a%2F..%2Fb%3Fc%23d/z");
    assert_eq!(path("{ p: ['a', 1] }"), "/a/a,1/z");
    assert_eq!(path("{ p: '%2e%2e' }"), "/a/%252e%252e/z");
    for bad in ["{ p: '' }", "{ p: '.' }", "{ p: '..' }", "{ p: [] }"] {
        assert!(path(bad).contains("in a path"), "{bad}");
    }
    for bad in ["{}", "{ p: null }"] {
        assert!(path(bad).contains("'p' is required"), "{bad}");
    }
    assert!(path("{ p: 1, h: 'a\\nb: c' }").contains("header field"));
}

fn secured(requirement: Value) -> Api {
    let spec = json!({ "openapi": "3.1.0", "servers": [{ "url": "https://api.test" }],
        "components": { "securitySchemes": {
            "bearer": { "type": "http", "scheme": "Bearer" }, "basic": { "type": "http", "scheme": "basic" },
            "header": { "type": "apiKey", "in": "header", "name": "X-Key" }, "query": { "type": "apiKey", "in": "query", "name": "api key" },
            "cookie": { "type": "apiKey", "in": "cookie", "name": "c" }, "oauth": { "type": "oauth2", "flows": {} },
            "oidc": { "type": "openIdConnect" }, "custom": { "type": "apiKey", "in": "header", "name": "X-Other" },
            "none": { "type": "http", "scheme": "bearer" }, "wrong": { "type": "http", "scheme": "bearer" }, "digest": { "type": "http", "scheme": "digest" } } },
        "paths": { "/x": { "get": { "operationId": "t", "security": requirement, "parameters": [{ "in": "query", "name": "q" }, { "in": "query", "name": "api key" }] } } } });
    read(&spec)
}

#[test]
fn credentials_are_added_by_the_host_and_never_shown() {
    let sent = |requirement: Value| {
        let (api, fake) = (secured(requirement), Fake::default());
        let outcome = run(&api, &fake, "await tools.t({ q: 1 })");
        let seen = fake.seen.lock().unwrap();
        match outcome.result {
            Ok(_) => format!("{}\n{}", seen[0].1, seen[0].2),
            Err(error) => {
                assert!(seen.is_empty());
                error.message
            }
        }
    };
    let has = |requirement: Value, text: &str| {
        let sent = sent(requirement);
        assert!(sent.contains(text), "{sent}");
    };
    has(json!([{ "bearer": [] }]), "Authorization: Bearer token-");
    has(
        json!([{ "oauth": ["read", "write"] }]),
        "Authorization: Bearer token-read+write",
    );
    has(json!([{ "oidc": [] }]), "Authorization: Bearer token-");
    has(
        json!([{ "basic": [] }]),
        "Authorization: Basic YW5uOnBhc3Mtd29yZA==",
    );
    has(json!([{ "header": [], "query": [] }]), "X-Key: key secret&");
    has(
        json!([{ "header": [], "query": [] }]),
        "?q=1&api%20key=key%20secret%26",
    );
    has(json!([{ "custom": [] }]), "X-Custom: custom-secret");
    has(
        json!([{ "none": [] }, { "wrong": [] }, { "basic": [] }]),
        "Basic ",
    );
    has(
        json!([{ "none": [] }, { "wrong": [] }]),
        "no credentials for 't'",
    );
    for open in [json!([]), json!([{}]), json!([{ "none": [] }, {}])] {
        assert!(!sent(open).contains("Authorization"));
    }
    for (skipped, why) in [
        (json!([{ "cookie": [] }]), "cookie"),
        (json!([{ "digest": [] }]), "digest"),
        (json!([{ "bearer": [], "basic": [] }]), "same place"),
        (json!([{ "bearer": "x" }]), "malformed"),
    ] {
        assert!(secured(skipped).skipped[0].reason.contains(why), "{why}");
    }
    let (api, fake) = (secured(json!([{ "query": [] }])), Fake::default());
    let outcome = run(&api, &fake, "await tools.t({ 'api key': 'mine' })");
    assert!(
        outcome
            .result
            .unwrap_err()
            .message
            .contains("no credentials")
    );
}

#[test]
fn secrets_are_taken_out_of_whatever_the_server_says() {
    let api = secured(json!([{ "bearer": ["abc"], "query": [] }]));
    let echo = "you sent token-abc, key secret&, key%20secret%26 and host-secret";
    for answer in [
        Ok(response(500, "text/plain", echo)),
        Ok(response(200, "text/plain", echo)),
        Err(TransportError(echo.into())),
    ] {
        let fake = Fake::default();
        fake.answers.lock().unwrap().push(answer);
        let outcome = run(
            &api,
            &fake,
            "try { return await tools.t({}) } catch (e) { return e.message }",
        );
        let text = outcome.to_json().to_string();
        for secret in ["token-abc", "key secret", "key%20secret", "host-secret"] {
            assert!(!text.contains(secret), "{text}");
        }
        assert!(text.contains("[redacted]"));
    }
}

#[test]
fn answers_are_read_by_status_and_media() {
    let api = read(&document(
        json!({ "/x": { "get": { "operationId": "t" } } }),
    ));
    let answered = |answer: Response| {
        let fake = Fake::default();
        fake.answers.lock().unwrap().push(Ok(answer));
        run(
            &api,
            &fake,
            "try { return await tools.t() } catch (e) { return 'failed: ' + e.message }",
        )
        .result
        .unwrap()
    };
    assert_eq!(
        answered(response(
            200,
            "application/json; charset=utf-8",
            "[1, {\"a\": null}]"
        )),
        json!([1, { "a": null }])
    );
    assert_eq!(
        answered(response(200, "application/problem+json", "3")),
        json!(3)
    );
    assert_eq!(answered(response(200, "text/plain", "3")), json!("3"));
    assert_eq!(answered(response(204, "", "")), Value::Null);
    assert!(
        answered(response(200, "application/json", "{"))
            .as_str()
            .unwrap()
            .contains("malformed")
    );
    assert_eq!(
        answered(response(404, "text/plain", "not here")),
        json!("failed: HTTP 404: not here")
    );
    assert_eq!(answered(response(500, "", "")), json!("failed: HTTP 500"));
    let long = answered(response(400, "text/plain", &"é".repeat(5_000)));
    assert_eq!(
        long.as_str().unwrap().chars().count(),
        "failed: HTTP 400: ".len() + 1_024
    );
    let most = codemode::openapi::RESPONSE_LIMIT;
    assert!(
        answered(response(200, "text/plain", &"x".repeat(most + 1)))
            .as_str()
            .unwrap()
            .contains("longer than")
    );
}

#[test]
fn redirects_are_followed_on_the_same_server_only() {
    let spec = document(
        json!({ "/x": { "get": { "operationId": "t" }, "post": { "operationId": "u" } } }),
    );
    let api = read(&spec);
    let redirect = |to: &str| Response {
        status: 302,
        headers: vec![("location".into(), to.into())],
        body: Vec::new(),
    };
    let ask = |answers: Vec<Response>, source: &str| {
        let fake = Fake::default();
        fake.answers
            .lock()
            .unwrap()
            .extend(answers.into_iter().map(Ok));
        let result = run(&api, &fake, source).result.map_err(|e| e.message);
        let seen: Vec<String> = fake
            .seen
            .lock()
            .unwrap()
            .iter()
            .map(|s| s.1.clone())
            .collect();
        (result, seen)
    };
    let (result, seen) = ask(vec![redirect("/v1/y?z=1")], "await tools.t()");
    assert_eq!(
        (result, seen[1].as_str()),
        (Ok(json!({ "fine": true })), "https://api.test/v1/y?z=1")
    );
    for elsewhere in [
        "https://evil.test/",
        "http://api.test/",
        "https://api.test:8443/",
        "//evil.test/x",
    ] {
        let (result, seen) = ask(vec![redirect(elsewhere)], "await tools.t()");
        assert!(result.unwrap_err().contains("another host"), "{elsewhere}");
        assert_eq!(seen.len(), 1);
    }
    let (result, seen) = ask(vec![redirect("/v1/y")], "await tools.u()");
    assert!(result.unwrap_err().contains("redirected a POST") && seen.len() == 1);
    let (result, _) = ask(
        (0..9).map(|_| redirect("/v1/x")).collect(),
        "await tools.t()",
    );
    assert!(result.unwrap_err().contains("more than 5 times"));
}

// ---- A real server ----

/// Serves connections until its test ends: answers by path.
fn serve(other: Option<u16>) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) < 3 {
                    break;
                }
                if let Some(n) = line.to_lowercase().strip_prefix("content-length:") {
                    length = n.trim().parse().unwrap();
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            log.lock()
                .unwrap()
                .push(format!("{head}\n{}", String::from_utf8_lossy(&body)));
            let answer = match path.split('?').next().unwrap_or_default() {
                "/gone" => format!("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{}/stolen\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", other.unwrap_or(1)),
                "/moved" => "HTTP/1.1 307 Temporary Redirect\r\nLocation: /items/9\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_owned(),
                "/huge" => format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\nx", (50 << 20) + 1),
                "/cut" => "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx".to_owned(),
                _ => {
                    let text = format!("{{\"path\":\"{path}\",\"body\":{}}}", if body.is_empty() { "null".into() } else { String::from_utf8_lossy(&body).into_owned() });
                    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len())
                }
            };
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (port, seen)
}

#[test]
fn requests_reach_a_real_server_and_no_other() {
    let (thief, stolen) = serve(None);
    let (port, seen) = serve(Some(thief));
    let spec = json!({ "openapi": "3.0.3", "servers": [{ "url": format!("http://127.0.0.1:{port}") }],
        "components": { "securitySchemes": { "k": { "type": "apiKey", "in": "query", "name": "key" }, "b": { "type": "http", "scheme": "bearer" } } },
        "security": [{ "k": [], "b": [] }],
        "paths": {
            "/items/{id}": { "get": { "operationId": "get", "parameters": [{ "in": "path", "name": "id" }] },
                "put": { "operationId": "put", "parameters": [{ "in": "path", "name": "id" }], "requestBody": { "required": true, "content": { "application/json": { "schema": {
                    "type": "object", "additionalProperties": false, "properties": { "name": { "type": "string" } } } } } } } },
            "/gone": { "get": { "operationId": "gone" } }, "/moved": { "get": { "operationId": "moved" } },
            "/huge": { "get": { "operationId": "huge" } }, "/cut": { "get": { "operationId": "cut" } } } });
    let api = read(&spec);
    let runtime = Runtime::new(
        ToolSet::new(api.tools.clone(), Default::default()).unwrap(),
        Limits::default(),
    );
    let host = api
        .host(Arc::new(HttpTransport::new().unwrap()))
        .with_credentials(Arc::new(Vault));
    let source = "
        const out = [await tools.get({ id: 'a b' }), await tools.put({ id: 1, name: 'ü' }), await tools.moved()]
        for (const f of [() => tools.gone(), () => tools.huge(), () => tools.cut()]) try { out.push(await f()) } catch (e) { out.push(e.message) }
        return out";
    let outcome = block(runtime.execute(source, &host, &CancelFlag::default())).unwrap();
    let text = outcome.to_json().to_string();
    let value = outcome.result.unwrap();
    assert!(
        value[0]["path"]
            .as_str()
            .unwrap()
            .starts_with("/items/a%20b?key=[redacted]"),
        "{value}"
    );
    assert_eq!(value[1]["body"], json!({ "name": "ü" }));
    assert_eq!(
        value[2]["path"].as_str().unwrap().split('?').next(),
        Some("/items/9")
    );
    assert!(value[3].as_str().unwrap().contains("another host"));
    assert!(
        value[4].as_str().unwrap().contains("longer than"),
        "{value}"
    );
    assert!(value[5].is_string());
    assert!(
        !text.contains("token-") && !text.contains("secret"),
        "{text}"
    );
    assert!(stolen.lock().unwrap().is_empty());
    let seen = seen.lock().unwrap();
    assert!(
        seen[0]
            .to_lowercase()
            .contains("authorization: bearer token-")
    );
    assert!(
        seen[1].starts_with("PUT /items/1?key=key%20secret%26 HTTP/1.1")
            && seen[1].ends_with("{\"name\":\"ü\"}")
    );
}

#[test]
fn a_server_that_isnt_there_is_told_without_the_address() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let spec = json!({ "openapi": "3.0.3", "servers": [{ "url": format!("http://127.0.0.1:{port}") }],
        "components": { "securitySchemes": { "k": { "type": "apiKey", "in": "query", "name": "key" } } }, "security": [{ "k": [] }],
        "paths": { "/x": { "get": { "operationId": "t" } } } });
    let api = read(&spec);
    let runtime = Runtime::new(
        ToolSet::new(api.tools.clone(), Default::default()).unwrap(),
        Limits::default(),
    );
    let host = api
        .host(Arc::new(HttpTransport::new().unwrap()))
        .with_credentials(Arc::new(Vault));
    let outcome = block(runtime.execute("await tools.t()", &host, &CancelFlag::default())).unwrap();
    let message = outcome.result.unwrap_err().message;
    assert!(
        !message.contains("secret") && !message.contains("key="),
        "{message}"
    );
}
