// SPDX-License-Identifier: MIT
// usage: node kubernetes.mjs FILE.yaml...   print what the schema of Kubernetes' API says against each document
//
// The validators of kubernetes-models are made of that schema. They accept fields that it does not have, as the schema
// itself does, while `kubectl apply` refuses them. A validator reads the fields that it knows, so a field of a document
// that none has read is unknown.
import { readFileSync } from "node:fs";
import { loadAll } from "js-yaml";

/** A view of a value that adds the path of each field which somebody reads to `read`. */
function watched(value, path, read) {
	if (typeof value !== "object" || value === null)
		return value;
	return new Proxy(value, {
		get(target, name) {
			read.add(`${path}.${String(name)}`);
			return watched(target[name], `${path}.${String(name)}`, read);
		},
	});
}

function* unread(value, path, read) {
	if (typeof value !== "object" || value === null)
		return;
	for (const [name, member] of Object.entries(value)) {
		if (read.has(`${path}.${name}`))
			yield* unread(member, `${path}.${name}`, read);
		else
			yield `${path}.${name}: no such field`;
	}
}

async function* complaints(document) {
	const { apiVersion = "", kind = "" } = document ?? {};
	const read = new Set();
	let model;

	try {
		model = (await import(`kubernetes-models/${apiVersion}`))[kind];
	} catch {
		// No such version.
	}
	if (!model) {
		yield `no such kind: ${apiVersion} ${kind}`;
		return;
	}
	try {
		const object = new model(document);

		Object.assign(object, watched(document, kind, read));
		object.validate();
	} catch (error) {
		yield String(error.message ?? error);
		return;
	}
	yield* unread(document, kind, read);
}

let documents = 0;

for (const path of process.argv.slice(2)) {
	for (const document of loadAll(readFileSync(path, "utf8"))) {
		documents++;
		for await (const text of complaints(document)) {
			console.log(`${path}: ${text}`);
			process.exitCode = 1;
		}
	}
}
if (!documents) {
	console.log("no document");
	process.exitCode = 1;
}
