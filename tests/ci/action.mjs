// SPDX-License-Identifier: MIT
// usage: node action.mjs ACTION.yml [INPUT=VALUE]...   print a composite action as a bash script
//        node action.mjs --workflow FILE.yml           check a workflow
//
// GitHub's own parser checks the file, and its own evaluator the expressions. The script does what a runner does with
// a composite action: each step is a bash of its own (-e -o pipefail), with GITHUB_OUTPUT and the step's environment.
import { readFileSync } from "node:fs";
import { data, Evaluator, Lexer, Parser } from "@actions/expressions";
import { NoOperationTraceWriter, parseWorkflow } from "@actions/workflow-parser";
import { parseAction } from "@actions/workflow-parser/actions/index";
import { parse } from "yaml";

function fail(text) {
	console.error(`action: ${text}`);
	process.exit(1);
}

function read(path, parser) {
	const content = readFileSync(path, "utf8");
	const errors = parser({ name: path, content }, new NoOperationTraceWriter()).context.errors.getErrors();

	if (errors.length)
		fail(errors.map((error) => error.message).join("\n"));
	return parse(content);
}

function evaluate(expression, inputs) {
	const { tokens } = new Lexer(expression).lex();
	const context = new data.Dictionary({ key: "inputs", value: inputs });

	return new Evaluator(new Parser(tokens, ["inputs"], []).parse(), context).evaluate();
}

const expand = (text, inputs) =>
	String(text).replace(/\$\{\{(.*?)\}\}/g, (_, expression) => evaluate(expression, inputs).coerceString());
const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

const [path, ...given] = process.argv.slice(2);
if (path === "--workflow") {
	read(given[0], parseWorkflow);
	process.exit(0);
}
const action = read(path, parseAction);
const values = new Map(Object.entries(action.inputs ?? {}).map(([name, input]) => [name, input.default ?? ""]));
for (const setting of given) {
	const [name, ...value] = setting.split("=");

	if (!values.has(name))
		fail(`${path} has no input '${name}'`);
	values.set(name, value.join("="));
}
const inputs = new data.Dictionary(
	...[...values].map(([key, value]) => ({ key, value: new data.StringData(value) })));

console.log("set -eu");
for (const step of action.runs.steps) {
	if (step.if && !evaluate(step.if, inputs).coerceString().match(/^true$/))
		continue;
	if (step.shell !== "bash" || !step.run)
		fail(`step '${step.name}': expected one that bash runs`);
	const env = Object.entries(step.env ?? {}).map(([name, value]) => `${name}=${quote(expand(value, inputs))}`);

	console.log(`echo ${quote(`## ${step.name}`)}`);
	console.log(`env ${env.join(" ")} bash -e -o pipefail -c ${quote(expand(step.run, inputs))}`);
}
