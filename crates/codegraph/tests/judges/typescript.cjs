// Compares a folder's JavaScript and TypeScript graph with the TypeScript 5 compiler, an independent judge.
//
// usage: node typescript.cjs CODEGRAPH TYPESCRIPT_MODULE DIR [--show]
//
// Prints one JSON line: precision and recall of imports (resolveModuleName), exports (getExportsOfModule) and unused
// imports (diagnostics 6133, 6192, 6196, 6198).
"use strict";
const { execFileSync } = require("node:child_process");
const path = require("node:path");
const fs = require("node:fs");

const [codegraph, typescript, directory] = process.argv.slice(2);
const show = process.argv.includes("--show");
const ts = require(typescript);
const root = fs.realpathSync(directory);

const unescape = (text) => text.replace(/%(25|7C|0A|0D|2C|3A)/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
const kg = execFileSync(codegraph, ["build", root, "--kg", "-", "--no-gitignore", "--build-output"], {
  encoding: "utf8",
  maxBuffer: 1 << 30,
});
const nodes = new Map();
const imports = new Set();
const exported = new Set();
const unused = new Set();
for (const line of kg.split("\n")) {
  const fields = line.split("|");
  if (line.startsWith("n")) {
    const parent = nodes.get(fields[2]);
    const name = unescape(fields[4]);
    const full = parent === undefined ? "" : parent.path === "" ? name : `${parent.path}/${name}`;
    nodes.set(fields[0], { path: fields[1] === "symbol" ? parent.path : full, name });
  } else if (line.startsWith("e")) {
    const [from, to] = [nodes.get(fields[1]), nodes.get(fields[2])];
    if (fields[3] === "IMPORTS") imports.add(`${from.path} -> ${to.path}`);
    if (fields[3] === "EXPORTS") exported.add(`${from.path} ${to.name}`);
  } else if (line.startsWith("i")) {
    for (const name of fields[5].split(",")) {
      if (name !== "") unused.add(`${nodes.get(fields[0].slice(1)).path} ${unescape(name)}`);
    }
  }
}

// Files over 1 MB and minified ones are nodes without symbols, by design.
function isWritten(file) {
  const text = fs.readFileSync(path.join(root, file), "utf8");
  const minified = /\.[cm]?js$/.test(file) && text.length >= 5000 && text.length / text.split("\n").length >= 500;
  return text.length <= 1 << 20 && !minified && !path.basename(file).includes(".min.") && !text.slice(0, 512).includes("@generated");
}
const isSource = (file) => /\.([cm]?[jt]s|[jt]sx)$/.test(file);
const files = [...new Set([...nodes.values()].map((node) => node.path))].filter(
  (file) => isSource(file) && isWritten(file),
);
const known = new Set(files);
const findConfig = (file) => {
  for (let dir = path.dirname(file); dir.startsWith(root); dir = path.dirname(dir)) {
    const config = path.join(dir, "tsconfig.json");
    if (fs.existsSync(config)) return config;
  }
  return undefined;
};
const optionsOf = new Map();
const base = { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, allowJs: true, noEmit: true, target: ts.ScriptTarget.ESNext, resolveJsonModule: true };
const options = (file) => {
  const config = findConfig(file) ?? "";
  if (!optionsOf.has(config)) {
    const read = config && ts.getParsedCommandLineOfConfigFile(config, {}, { ...ts.sys, onUnRecoverableConfigFileDiagnostic() {} });
    const { paths, baseUrl, rootDirs, jsx, pathsBasePath } = read?.options ?? {};
    optionsOf.set(config, { ...base, paths, baseUrl, rootDirs, jsx: jsx ?? ts.JsxEmit.React, pathsBasePath });
  }
  return optionsOf.get(config);
};

const absolute = files.map((file) => path.join(root, file));
const program = ts.createProgram(absolute, { ...options(absolute[0] ?? root), noUnusedLocals: true, checkJs: true, skipLibCheck: false, types: [], noLib: true });
const checker = program.getTypeChecker();
const relative = (file) => path.relative(root, file).split(path.sep).join("/");
const judgedImports = new Set();
const judgedExports = new Set();
const judgedUnused = new Set();
for (const file of absolute) {
  const source = program.getSourceFile(file);
  if (source === undefined) continue;
  const name = relative(file);
  for (const literal of [...source.imports, ...requires(source)]) {
    const resolved = ts.resolveModuleName(literal.text, file, options(file), ts.sys).resolvedModule;
    const target = resolved && scriptBehind(name, relative(resolved.resolvedFileName));
    if (target !== undefined && known.has(target) && target !== name) judgedImports.add(`${name} -> ${target}`);
  }
  const symbol = checker.getSymbolAtLocation(source) ?? source.symbol;
  if (symbol !== undefined) {
    // What `export =` or `module.exports =` gives is the default export here, but for an object, whose names are exports.
    const whole = symbol.exports?.get("export=")?.declarations?.[0];
    const value = whole && [whole, whole.parent].find(ts.isBinaryExpression)?.right;
    if (whole && !(value && ts.isObjectLiteralExpression(value))) judgedExports.add(`${name} default`);
    for (const item of checker.getExportsOfModule(symbol)) {
      if (item.escapedName === "___esModule") continue;
      judgedExports.add(`${name} ${item.escapedName === "export=" ? "default" : ts.unescapeLeadingUnderscores(item.escapedName)}`);
    }
  }
  if (/\.d\.[cm]?ts$/.test(name)) continue;
  for (const problem of program.getSemanticDiagnostics(source)) {
    if ([6133, 6192, 6196, 6198].includes(problem.code)) namesAt(source, problem).forEach((local) => judgedUnused.add(`${name} ${local}`));
  }
}

// The compiler only wants types, so it stops at a declaration file. What a script runs is the script beside it.
function scriptBehind(from, target) {
  if (/\.d\.[cm]?ts$/.test(from)) return target;
  const script = target.replace(/\.d\.([cm]?)ts$/, ".$1js");
  return known.has(script) ? script : target;
}

function requires(source) {
  const found = [];
  const visit = (node) => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === "require" && node.arguments.length === 1 && ts.isStringLiteral(node.arguments[0])) {
      found.push(node.arguments[0]);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

// The imported names that a diagnostic is about: one name, or all of a declaration.
function namesAt(source, problem) {
  const names = [];
  const visit = (node) => {
    const inside = node.getStart(source) >= problem.start && node.end <= problem.start + problem.length;
    const isName = (ts.isImportSpecifier(node) || ts.isImportClause(node) || ts.isNamespaceImport(node) || ts.isImportEqualsDeclaration(node)) && node.name;
    if (isName && (inside || (node.name.getStart(source) >= problem.start && node.name.end <= problem.start + problem.length))) names.push(node.name.text);
    ts.forEachChild(node, visit);
  };
  source.statements.filter((item) => ts.isImportDeclaration(item) || ts.isImportEqualsDeclaration(item)).forEach(visit);
  return names;
}

function score(mine, judge, what) {
  const both = [...mine].filter((item) => judge.has(item)).length;
  if (show) {
    [...mine].filter((item) => !judge.has(item)).sort().slice(0, 15).forEach((item) => console.error("  extra", what, item));
    [...judge].filter((item) => !mine.has(item)).sort().slice(0, 15).forEach((item) => console.error("  missing", what, item));
  }
  const ratio = (total) => (total === 0 ? 1 : Math.round((both / total) * 1e4) / 1e4);
  return { ours: mine.size, judge: judge.size, precision: ratio(mine.size), recall: ratio(judge.size) };
}

const onlySources = (set) => new Set([...set].filter((item) => item.split(" -> ").every((file) => known.has(file))));
const importedOnly = new Set([...unused].filter((item) => !/\.d\.[cm]?ts /.test(item)));
console.log(
  JSON.stringify({
    subject: path.basename(root),
    files: files.length,
    imports: score(onlySources(imports), judgedImports, "import"),
    exports: score(new Set([...exported].filter((item) => known.has(item.slice(0, item.indexOf(' ', item.lastIndexOf('.')))))), judgedExports, "export"),
    unused: score(importedOnly, judgedUnused, "unused"),
  }),
);
