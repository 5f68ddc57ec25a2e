//! Reading, writing, editing and moving files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use workspace::{
    BufferTable, EditRequest, EntryKind, ErrorKind, LineEnd, OpenBuffers, ReadRequest, RelPath,
    Workspace, WorkspaceError,
};

use crate::bench::{Bench, kind};

#[test]
fn a_window_of_lines_is_numbered_and_tells_what_is_left_out() {
    let bench = Bench::new();
    bench.put("a.txt", "one\r\ntwo\r\nthree\r\nfour");
    let request = ReadRequest {
        path: "./a.txt".into(),
        offset: Some(2),
        limit: Some(2),
    };
    let read = bench.workspace.read_file(&request, &bench.ledger).unwrap();
    assert_eq!(
        (read.lines, read.total_lines, read.truncated),
        ([2, 3], 4, false)
    );
    assert_eq!(
        (read.text.as_str(), read.line_end),
        ("two\nthree\n", LineEnd::CrLf)
    );
    assert_eq!(
        read.numbered(),
        "   2| two\n   3| three\n(lines 2-3 of 4)\n"
    );
    let json = serde_json::to_value(&read).unwrap();
    assert_eq!(json["encoding"], "utf-8");
    assert_eq!(json["line_end"], "cr_lf");
    assert_eq!(json["hash"].as_str().unwrap().len(), 64);
    bench.put("empty", "");
    assert_eq!(bench.read("empty").unwrap().numbered(), "(empty)\n");
    let past = ReadRequest {
        path: "a.txt".into(),
        offset: Some(9),
        limit: None,
    };
    let past = bench.workspace.read_file(&past, &bench.ledger).unwrap();
    assert_eq!((past.lines, past.text.as_str()), ([0, 0], ""));
}

#[test]
fn long_files_and_long_lines_are_cut_and_say_so() {
    let bench = Bench::new();
    bench.put("lines", "x\n".repeat(2_500));
    let read = bench.read("lines").unwrap();
    assert_eq!(
        (read.lines, read.total_lines, read.truncated),
        ([1, 2_000], 2_500, true)
    );
    bench.put("long", format!("{}\nshort\n", "é".repeat(5_000)));
    let read = bench.read("long").unwrap();
    assert_eq!(read.cut_lines, 1);
    assert!(read.text.chars().count() < 2_100 && read.text.ends_with("…\nshort\n"));
    bench.put("wide", format!("{}\n", "y".repeat(1_900)).repeat(300));
    let read = bench.read("wide").unwrap();
    assert!(read.truncated && read.text.len() <= 256 * 1024 && read.lines[1] < 300);
}

#[test]
fn a_file_over_the_limit_is_read_in_passing_and_not_edited() {
    let bench = Bench::new();
    let line = format!("{}\r\n", "z".repeat(998));
    bench.put("big", format!("\u{feff}{}last", line.repeat(11 * 1024)));
    let request = ReadRequest {
        path: "big".into(),
        offset: Some(11 * 1024),
        limit: Some(2),
    };
    let read = bench.workspace.read_file(&request, &bench.ledger).unwrap();
    assert_eq!(
        (read.total_lines, read.line_end),
        (11 * 1024 + 1, LineEnd::CrLf)
    );
    assert_eq!(read.text, format!("{}\nlast", "z".repeat(998)));
    assert_eq!(read.encoding.to_string(), "utf-8 with bom");
    assert_eq!(read.hash, workspace::ContentHash::of(&bench.bytes("big")));
    assert_eq!(
        kind(bench.edit("big", "last", "first")),
        ErrorKind::TooLarge
    );
}

#[test]
fn mode_hard_links_and_read_only_files_are_respected() {
    let bench = Bench::new();
    bench.put("script", "echo one\n");
    fs::set_permissions(bench.at("script"), fs::Permissions::from_mode(0o755)).unwrap();
    bench.read("script").unwrap();
    bench.edit("script", "one", "two").unwrap();
    assert_eq!(
        fs::metadata(bench.at("script")).unwrap().mode() & 0o777,
        0o755
    );

    bench.put("a", "one\n");
    fs::hard_link(bench.at("a"), bench.at("b")).unwrap();
    bench.read("a").unwrap();
    bench.edit("a", "one", "1").unwrap();
    assert_eq!(bench.bytes("b"), b"1\n");

    fs::set_permissions(bench.at("script"), fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(
        kind(bench.edit("script", "two", "three")),
        ErrorKind::Protected
    );
    assert_eq!(bench.bytes("script"), b"echo two\n");
    let leftovers = fs::read_dir(bench.at(".")).unwrap().count();
    assert_eq!(leftovers, 3);
}

#[test]
fn extended_attributes_stay_with_the_file() {
    let bench = Bench::new();
    bench.put("f", "one");
    let path = bench.at("f");
    let flags = rustix::fs::XattrFlags::empty();
    if let Err(errno) = rustix::fs::setxattr(&path, "user.note", b"kept", flags) {
        eprintln!("this file system has no extended attributes ({errno}): nothing to keep");
        return;
    }
    bench.read("f").unwrap();
    bench.edit("f", "one", "two").unwrap();
    let mut value = [0; 16];
    let length = rustix::fs::getxattr(&path, "user.note", &mut value).unwrap();
    assert_eq!(&value[..length], b"kept");
}

#[test]
fn an_edit_tells_what_it_did() {
    let bench = Bench::new();
    bench.put("f.rs", "fn a() {}\nfn b() {}\nfn c() {}\n");
    bench.read("f.rs").unwrap();
    let written = bench
        .edit("f.rs", "fn b() {}", "fn b() {\n    todo();\n}")
        .unwrap();
    assert_eq!(
        (written.replacements, written.created, written.saved),
        (Some(1), false, true)
    );
    assert_eq!(
        written.around,
        "   1| fn a() {}\n   2| fn b() {\n   3|     todo();\n   4| }\n   5| fn c() {}\n"
    );
    assert!(
        written
            .diff
            .contains("@@ -1,3 +1,5 @@\n fn a() {}\n-fn b() {}\n+fn b() {\n")
    );
    assert_eq!(
        written.hash,
        workspace::ContentHash::of(&bench.bytes("f.rs"))
    );
}

#[test]
fn a_replacement_is_literal() {
    let bench = Bench::new();
    bench.put("f.js", "log(\"done\");");
    bench.read("f.js").unwrap();
    bench
        .edit("f.js", "log(\"done\");", "log(\"$& $1 $$ $` \\0 ok\");")
        .unwrap();
    assert_eq!(bench.bytes("f.js"), b"log(\"$& $1 $$ $` \\0 ok\");");
}

#[test]
fn an_edit_that_matches_twice_or_not_at_all_is_refused_with_the_way_out() {
    let bench = Bench::new();
    bench.put("f", "x = 1\ny = 2\nx = 1\naaa\n");
    bench.read("f").unwrap();
    match bench.edit("f", "x = 1", "x = 3").unwrap_err() {
        WorkspaceError::Ambiguous { lines, count, .. } => {
            assert_eq!((lines, count), (vec![1, 3], 2));
        }
        other => panic!("{other}"),
    }
    assert_eq!(kind(bench.edit("f", "aa", "b")), ErrorKind::Ambiguous);
    let error = bench.edit("f", "y  = 2", "y = 3").unwrap_err();
    assert!(
        error.to_string().contains("2 + y = 2 (in the file)"),
        "{error}"
    );
    assert_eq!(kind(bench.edit("f", "", "b")), ErrorKind::InvalidInput);
    assert_eq!(
        kind(bench.edit("f", "y = 2", "y = 2")),
        ErrorKind::InvalidInput
    );
    let missing = bench.edit("g", "a", "b").unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    let all = EditRequest {
        path: "f".into(),
        old_string: "x = 1".into(),
        new_string: "z".into(),
        replace_all: true,
    };
    assert_eq!(
        bench
            .workspace
            .edit_file(&all, &bench.ledger)
            .unwrap()
            .replacements,
        Some(2)
    );
    assert_eq!(bench.bytes("f"), b"z\ny = 2\nz\naaa\n");
}

#[test]
fn a_stale_edit_goes_through_only_where_nothing_changed() {
    let bench = Bench::new();
    bench.put("f", "a\nb\nc\nd\ne\nf\n");
    assert_eq!(
        kind(bench.edit("f", "a", "A")),
        ErrorKind::Stale,
        "never read"
    );
    bench.read("f").unwrap();
    bench.put("f", "a\nb\nc\nd\ne\nF\n");
    bench.edit("f", "b", "B").unwrap();
    assert_eq!(bench.bytes("f"), b"a\nB\nc\nd\ne\nF\n");
    bench.put("f", "a\nB\nc\nX\ne\nF\n");
    assert_eq!(
        kind(bench.edit("f", "c", "C")),
        ErrorKind::Stale,
        "its neighbour changed"
    );
    assert_eq!(kind(bench.write("f", "new")), ErrorKind::Stale);
    bench.read("f").unwrap();
    bench.edit("f", "c", "C").unwrap();
    bench.write("f", "new\n").unwrap();
    assert_eq!(bench.bytes("f"), b"new\n");
}

#[test]
fn writing_a_file_anew_keeps_the_bytes_of_lines_that_stay() {
    let bench = Bench::new();
    bench.put("f", b"\xef\xbb\xbfa\r\nb\nc\r\n");
    bench.read("f").unwrap();
    bench.write("f", "a\nb\nnew\nc\n").unwrap();
    assert_eq!(bench.bytes("f"), b"\xef\xbb\xbfa\r\nb\nnew\r\nc\r\n");
    assert_eq!(
        kind(bench.write("f", "a\nb\nnew\nc\n")),
        ErrorKind::InvalidInput,
        "no change"
    );
    bench.put("old", "x");
    assert_eq!(
        kind(bench.write("old", "y")),
        ErrorKind::Stale,
        "never read"
    );
    let made = bench.write("deep/er/new", "x\r\ny").unwrap();
    assert!(made.created && made.diff.contains("+x\n+y\n"));
    assert_eq!(bench.bytes("deep/er/new"), b"x\r\ny");
}

#[test]
fn an_open_file_is_read_from_its_buffer_and_edited_there() {
    let bench = Bench::new();
    let buffers = Arc::new(BufferTable::default());
    bench.put("f", "one\ntwo\n");
    let open = Workspace::open(&[bench.at(".")])
        .unwrap()
        .with_buffers(buffers.clone());
    let path = RelPath::parse("f").unwrap();
    let read = || {
        let request = ReadRequest {
            path: "f".into(),
            ..Default::default()
        };
        open.read_file(&request, &bench.ledger)
    };
    let edit = |old: &str, new: &str| {
        let request = EditRequest {
            path: "f".into(),
            old_string: old.into(),
            new_string: new.into(),
            replace_all: false,
        };
        open.edit_file(&request, &bench.ledger)
    };
    // Clean: the disk and the buffer move together.
    buffers.set(path.clone(), "one\ntwo\n", false);
    read().unwrap();
    assert!(edit("one", "1").unwrap().saved);
    assert_eq!(bench.bytes("f"), b"1\ntwo\n");
    assert_eq!(buffers.buffer(&path).unwrap().text, "1\ntwo\n");
    // Dirty: the buffer alone.
    buffers.set(path.clone(), "1\ntwo\nmine\n", true);
    assert_eq!(read().unwrap().text, "1\ntwo\nmine\n");
    assert!(!edit("two", "2").unwrap().saved);
    assert_eq!(bench.bytes("f"), b"1\ntwo\n");
    let buffer = buffers.buffer(&path).unwrap();
    assert_eq!((buffer.text.as_str(), buffer.dirty), ("1\n2\nmine\n", true));
    assert_eq!(kind(open.delete_file("f", &bench.ledger)), ErrorKind::Stale);
    // Changed outside while the buffer is clean: nobody's text is overwritten.
    buffers.set(path, "1\n2\n", false);
    bench.put("f", "elsewhere\n");
    assert_eq!(kind(edit("2", "3")), ErrorKind::Stale);
}

#[test]
fn deleting_moves_to_the_trash_and_renaming_overwrites_nothing() {
    let bench = Bench::new();
    bench.put("d/a", "1");
    bench.put("d/b", "2");
    bench.put("e", "3");
    assert!(bench.workspace.is_filled_folder("d").unwrap());
    assert_eq!(kind(bench.rename("e", "d/a")), ErrorKind::InvalidInput);
    assert_eq!(kind(bench.rename("d", "d/x/y")), ErrorKind::InvalidInput);
    assert_eq!(kind(bench.rename("", "x")), ErrorKind::InvalidInput);
    bench.rename("d/a", "n/ew/a").unwrap();
    assert_eq!(bench.bytes("n/ew/a"), b"1");
    let deleted = bench.delete("d").unwrap();
    assert_eq!((deleted.kind, deleted.entries), (EntryKind::Folder, 2));
    assert_eq!(
        fs::read(Path::new(&deleted.trashed_at).join("b")).unwrap(),
        b"2"
    );
    assert!(!bench.at("d").exists());
    assert_eq!(kind(bench.delete("d")), ErrorKind::NotFound);
    assert_eq!(kind(bench.delete(".")), ErrorKind::InvalidInput);
}

#[test]
fn a_full_disk_leaves_the_file_as_it_was_and_nothing_beside_it() {
    let bench = Bench::new();
    bench.put("f", "old");
    bench.read("f").unwrap();
    for step in [
        "create temp",
        "write the rest of temp",
        "sync temp",
        "rename temp",
    ] {
        let full = workspace::Disk::with_hook(move |at| {
            if at == step {
                Err(std::io::ErrorKind::StorageFull.into())
            } else {
                Ok(())
            }
        });
        let workspace = Workspace::open(&[bench.at(".")]).unwrap().with_disk(full);
        let request = EditRequest {
            path: "f".into(),
            old_string: "old".into(),
            new_string: "new".into(),
            replace_all: false,
        };
        assert_eq!(
            kind(workspace.edit_file(&request, &bench.ledger)),
            ErrorKind::Io,
            "{step}"
        );
        assert_eq!(bench.bytes("f"), b"old", "{step}");
        assert_eq!(fs::read_dir(bench.at(".")).unwrap().count(), 1, "{step}");
    }
}
