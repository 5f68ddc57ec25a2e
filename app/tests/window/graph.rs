//! The code graph: the map, a file alone, the matrix, search, questions, keys.

use std::path::Path;

use egui::Key;
use egui::accesskit::Role;
use folkmoot::theme::ThemeName;
use host::GraphState;
use tempfile::TempDir;

use crate::pictures::compare;
use crate::table::{SHORT_ANSWERS, Table};
use crate::window::{CTRL, CTRL_SHIFT, Window};

/// A folder of TypeScript: an entry that uses two modules, which share a third.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in [
        (
            "src/main.ts",
            "import { draw } from './view/draw';\nimport { load } from './data/load';\ndraw(load());\n",
        ),
        (
            "src/view/draw.ts",
            "import { mix } from '../shared/color';\nexport function draw(x: number) { return mix(x); }\n",
        ),
        (
            "src/data/load.ts",
            "import { mix } from '../shared/color';\nexport const load = () => mix(1);\n",
        ),
        (
            "src/shared/color.ts",
            "export const mix = (x: number) => x;\nexport const unused = 1;\n",
        ),
        (
            "test/draw.test.ts",
            "import { draw } from '../src/view/draw';\ndraw(1);\n",
        ),
    ] {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    folder
}

fn open(table: &Table, folder: &Path) -> Window {
    let size = egui::vec2(1280.0, 800.0);
    let mut window = Window::open_on(table.home(), Some(folder), ThemeName::Dark, size);
    window.press_with(CTRL_SHIFT, Key::G);
    window.until("the graph", |w| {
        matches!(w.shell().model().graph, GraphState::Ready(_))
    });
    window.settle();
    window
}

fn seen(window: &Window) -> String {
    window
        .control(Role::Image, "Code graph")
        .value()
        .unwrap_or_default()
}

/// The names of all marks.
fn shown(window: &Window) -> Vec<String> {
    let items = &window.shell().graph().scene().items;
    items.iter().map(|item| item.name.clone()).collect()
}

#[test]
fn the_map_shows_the_folder_and_follows_what_is_saved() {
    let (table, folder) = (Table::set(SHORT_ANSWERS), folder());
    let mut window = open(&table, folder.path());
    assert!(window.sees("5 files, 5 imports"), "{}", window.outline());
    assert_eq!(
        shown(&window),
        [
            "the whole folder, 10 entries",
            "src/, 7 entries",
            "src/data/, 1 entries",
            "src/data/load.ts",
            "src/shared/, 1 entries",
            "src/shared/color.ts",
            "src/view/, 1 entries",
            "src/view/draw.ts",
            "src/main.ts",
            "test/, 1 entries",
            "test/draw.test.ts",
        ]
    );
    std::fs::write(
        folder.path().join("src/data/store.ts"),
        "import { mix } from '../shared/color';\nmix(2);\n",
    )
    .expect("a file");
    window.until("the new file", |w| w.sees("6 files, 6 imports"));
    window.until("its mark", |w| {
        shown(w).contains(&"src/data/store.ts".to_owned())
    });
}

fn search(window: &mut Window, needle: &str) {
    window
        .control(Role::TextInput, "Find files and symbols")
        .click();
    window.settle();
    window.type_text(needle);
    window.press(Key::Enter);
    window.settle();
}

#[test]
fn a_file_that_is_searched_for_is_shown_with_its_users_and_what_it_uses() {
    let (table, folder) = (Table::set(SHORT_ANSWERS), folder());
    let mut window = open(&table, folder.path());
    search(&mut window, "color");
    assert_eq!(
        shown(&window),
        [
            "src/data/load.ts",
            "src/view/draw.ts",
            "src/shared/color.ts",
            "mix (const), used by 2 files",
            "unused (const), used by 0 files",
        ]
    );
    assert!(
        window.sees("2 exports, 2 users, 0 imports"),
        "{}",
        window.outline()
    );
    window.click("Impact");
    window.until_seen("A change of src/shared/color.ts reaches 4 files");
    // What is saved is seen in the answer to the same question.
    std::fs::write(folder.path().join("test/draw.test.ts"), "").expect("a file");
    window.until_seen("5 files, 4 imports");
    window.click("Impact");
    window.until_seen("A change of src/shared/color.ts reaches 3 files");
}

#[test]
fn a_cycle_shows_the_import_to_take_away() {
    let (table, folder) = (Table::set(SHORT_ANSWERS), folder());
    let mut window = open(&table, folder.path());
    window.click("Cycles");
    window.until_at_rest();
    assert!(shown(&window).is_empty());
    std::fs::write(
        folder.path().join("src/shared/color.ts"),
        "import { draw } from '../view/draw';\nexport const mix = (x: number) => x + draw(x);\n",
    )
    .expect("a file");
    window.until("the cycle", |w| !shown(w).is_empty());
    assert_eq!(
        shown(&window),
        [
            "Cycle 1: 2 files, open with one import less",
            "src/shared/color.ts",
            "src/view/draw.ts",
        ]
    );
}

#[test]
fn the_free_layout_keeps_files_near_where_they_were() {
    let (table, folder) = (Table::set(SHORT_ANSWERS), folder());
    let mut window = open(&table, folder.path());
    window.click("Free");
    window.until("the layout", |w| shown(w).len() == 5);
    let place_of = |w: &Window, name: &str| {
        let items = &w.shell().graph().scene().items;
        let item = items.iter().find(|item| item.name == name);
        item.expect("the file is shown").area.center()
    };
    let before = place_of(&window, "src/main.ts");
    std::fs::write(folder.path().join("src/more.ts"), "import './main';\n").expect("a file");
    window.until("the new file", |w| shown(w).len() == 6);
    let moved = (place_of(&window, "src/main.ts") - before).length();
    let bounds = window.shell().graph().scene().bounds;
    assert!(
        moved < 0.25 * bounds.size().length(),
        "{moved} in {bounds:?}"
    );
}

#[test]
fn the_matrix_puts_users_above_what_they_use() {
    let (table, folder) = (Table::set(SHORT_ANSWERS), folder());
    let mut window = open(&table, folder.path());
    window.click("Matrix");
    window.settle();
    let shown = shown(&window);
    assert!(
        shown.contains(&"src/view → src/shared: 1 imports".to_owned()),
        "{shown:?}"
    );
    assert!(
        !shown.iter().any(|name| name.contains("against")),
        "{shown:?}"
    );
    // The shared module begins to use its users.
    std::fs::write(
        folder.path().join("src/shared/color.ts"),
        "import { draw } from '../view/draw';\nexport const mix = (x: number) => x + draw(x);\n",
    )
    .expect("a file");
    let has = |w: &Window, text: &str| {
        let items = &w.shell().graph().scene().items;
        items.iter().any(|item| item.name.contains(text))
    };
    window.until("the edge that points back", |w| has(w, "against the order"));
    // The folder says what it wants.
    let rules = folder.path().join(".folkmoot/layers.toml");
    std::fs::create_dir_all(rules.parent().expect("a parent")).expect("a folder");
    let text = "[[forbidden]]\nfrom = ['src/shared/**']\nto = ['src/view/**']\n";
    std::fs::write(&rules, text).expect("a file");
    std::fs::write(folder.path().join("src/more.ts"), "export {};\n").expect("a file");
    window.until("the rule that is broken", |w| {
        has(
            w,
            "against the rules: forbidden: src/shared/** to src/view/**",
        )
    });
}

#[test]
fn the_graph_needs_no_pointer() {
    let (table, folder) = (Table::set(SHORT_ANSWERS), folder());
    let mut window = open(&table, folder.path());
    let is_focused = |w: &Window| w.control(Role::Image, "Code graph").is_focused();
    for _ in 0..30 {
        if !is_focused(&window) {
            window.press(Key::Tab);
        }
    }
    assert!(is_focused(&window), "{}", window.outline());
    window.press(Key::ArrowRight);
    window.settle();
    let selected = |w: &Window| {
        let told = seen(w);
        told.split_once("selected: ")
            .map(|(_, name)| name.to_owned())
    };
    let first = selected(&window).expect("something is selected");
    window.press(Key::ArrowLeft);
    window.settle();
    assert_ne!(selected(&window), Some(first));
    let before = window.shell().graph().camera().scale;
    window.press(Key::Plus);
    window.settle();
    assert!(window.shell().graph().camera().scale > before * 1.1);
    window.press(Key::Slash);
    window.settle();
    assert_eq!(window.focused().as_deref(), Some("Find files and symbols"));
    window.type_text("load");
    window.press(Key::Enter);
    window.settle();
    assert!(seen(&window).starts_with("Focus: "), "{}", seen(&window));
    window.press_with(crate::window::CTRL, Key::W);
    window.until_seen("Who sits at the table");
}

#[test]
fn a_still_graph_asks_for_no_frame() {
    let (table, folder) = (Table::set(SHORT_ANSWERS), folder());
    let mut window = open(&table, folder.path());
    window.until_at_rest();
    assert!(seen(&window).starts_with("Map: "));
}

#[test]
fn the_map_and_a_file_alone_look_as_they_should() {
    let (table, folder) = (
        Table::set(SHORT_ANSWERS),
        tempfile::tempdir().expect("a folder"),
    );
    // A name that is the same each time.
    let folder = folder.path().join("sample");
    for area in ["core", "view", "store", "net"] {
        for nth in 0..9 {
            let uses = match (area, nth) {
                ("core", _) => String::new(),
                ("view", nth) => format!(
                    "import {{ c{nth} }} from '../core/part{nth}';\nimport {{ c0 }} from '../store/part{nth}';\n"
                ),
                (_, nth) => format!(
                    "import {{ c{} }} from '../core/part{}';\n",
                    nth / 3,
                    nth / 3
                ),
            };
            let path = folder.join(format!("src/{area}/part{nth}.ts"));
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            let text = format!(
                "{uses}export const c{nth} = {nth};\n{}",
                "// more\n".repeat(nth * 7)
            );
            std::fs::write(path, text).expect("a file");
        }
    }
    let mut window = open(&table, &folder);
    compare(&mut window, "graph-map-dark");
    search(&mut window, "part1");
    compare(&mut window, "graph-focus-dark");
}

#[test]
fn without_a_folder_the_graph_says_what_to_do() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.press_with(CTRL_SHIFT, Key::G);
    window.until_seen("No folder is open.");
    assert!(window.has(Role::Button, "Open a folder"));
}

#[test]
fn filters_leave_out_imports_and_the_picture_is_exported_as_it_is_seen() {
    let folder = folder();
    let types = "import type { X } from './shared/color';\nexport type Y = X;\n";
    std::fs::write(folder.path().join("src/types.ts"), types).expect("a file");
    let table = Table::set(SHORT_ANSWERS);
    let mut window = open(&table, folder.path());
    window.click("Free");
    let links = |w: &Window| w.shell().graph().scene().picture.links.len();
    window.until("all imports", |w| links(w) == 6);
    window.click("Filter");
    window.click("Imports");
    window.control(Role::CheckBox, "Types only").click();
    window.until("one import less", |w| links(w) == 5);
    window.press(Key::Escape);
    window.settle();
    window.click("Filter (on)");
    window.click("Show everything");
    window.until("all imports again", |w| links(w) == 6);
}

#[test]
fn the_path_between_two_files_is_told_and_drawn() {
    let (table, folder) = (Table::set(SHORT_ANSWERS), folder());
    let mut window = open(&table, folder.path());
    let middle = |window: &Window, name: &str| {
        let graph = window.shell().graph();
        let item = graph.scene().items.iter().find(|item| item.name == name);
        let view = window.control(Role::Image, "Code graph").rect();
        let middle = item.expect("the file is shown").area.center();
        graph.camera().to_screen(middle, view)
    };
    let (from, to) = (
        middle(&window, "src/main.ts"),
        middle(&window, "src/shared/color.ts"),
    );
    window.click_at(from);
    // The panel with what is selected takes room, and everything else of it moves.
    let to = if window.sees("0 exports, 0 users, 2 imports") {
        middle(&window, "src/shared/color.ts")
    } else {
        to
    };
    window.click_with(CTRL, to);
    window.click("Path between them");
    window.until_seen("src/main.ts reaches src/shared/color.ts in 2 imports");
    assert!(
        seen(&window).ends_with("a path of 2 imports"),
        "{}",
        seen(&window)
    );
}
