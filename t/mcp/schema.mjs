// schema: what the adapter writes, held against the official schema of each
// revision: every line as a whole, every result by the method it answers, every
// notification; and what tools answer against the tools' own output schemas.
// usage: node schema.mjs ADAPTER SITE SCHEMA-DIRECTORY
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { crash, done, note, ok } from './tap.mjs';

const [adapter, site, directory] = process.argv.slice(2);
const meta = 'io.modelcontextprotocol/';
const revisions = [ '2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25',
	'2026-07-28' ];
const modern = (rev) => rev >= '2026-07-28';
// Formats of numbers that the schemas name and the library does not know.
const own = { int64: true, uri: true, 'uri-template': true, byte: true };

function validator(rev) {
	const schema = JSON.parse(
	    readFileSync(`${directory}/schema-${rev}.json`, 'utf8'));
	const Kind = rev < '2025-11-25' ? Ajv : Ajv2020;
	const ajv = new Kind({ strict: false, allErrors: false });
	formats.default(ajv);
	for (const name of Object.keys(own))
		ajv.addFormat(name, own[name]);
	ajv.addSchema(schema, 'mcp');
	const part = rev < '2025-11-25' ? 'definitions' : '$defs';
	if (modern(rev))
		ajv.addSchema(JSON.parse(readFileSync(
		    `${directory}/schema-ext-tasks.json`, 'utf8')), 'tasks');
	return (type, value) => {
		const check = ajv.getSchema(type.includes('#') ? type
		    : `mcp#/${part}/${type}`);
		if (!check)
			return `the schema has no ${type}`;
		return check(value) ? '' : ajv.errorsText(check.errors);
	};
}

// One adapter; requests are answered in any order, notifications kept.
class Peer {
	constructor(rev) {
		this.rev = rev;
		this.last = 0;
		this.waiting = new Map();
		this.notes = [];
		this.lines = [];
		this.child = spawn(adapter, [], {
			stdio: [ 'pipe', 'pipe', 'inherit' ] });
		createInterface({ input: this.child.stdout })
		    .on('line', (line) => this.take(JSON.parse(line)));
	}

	take(message) {
		this.lines.push(message);
		for (const m of [ message ].flat()) {
			if (m.method)
				this.notes.push(m);
			else if (this.waiting.has(m.id))
				this.waiting.get(m.id)(m);
		}
	}

	write(message) {
		this.child.stdin.write(`${JSON.stringify(message)}\n`);
	}

	envelope(params = {}) {
		return modern(this.rev) ? { ...params, _meta: { ...params._meta,
			[`${meta}protocolVersion`]: this.rev,
			[`${meta}clientCapabilities`]: this.capabilities ?? {},
		} } : params;
	}

	ask(method, params) {
		const id = ++this.last;
		const answer = new Promise((resolve) => {
			this.waiting.set(id, resolve);
		});
		this.write({ jsonrpc: '2.0', id, method,
			params: this.envelope(params) });
		return answer;
	}

	end() {
		return new Promise((resolve) => {
			this.child.on('exit', resolve);
			this.child.stdin.end();
		});
	}
}

const tool = (name, args, more) => [ 'tools/call',
	{ name, arguments: args, ...more }, 'CallToolResult' ];
const batch = (path, options) => ({ templateId: 'batch_extract_pages',
	inputs: { urls: [ site + path ] }, options });

// Method, params, type of the result; E: an error is expected. ctx holds ids of
// earlier answers.
function* conversation(rev, ctx) {
	if (modern(rev))
		yield [ 'server/discover', {}, 'DiscoverResult' ];
	else {
		yield [ 'initialize', { protocolVersion: rev, capabilities: {},
			clientInfo: { name: 't', version: '1' } },
			'InitializeResult' ];
		yield [ 'ping', {}, 'EmptyResult' ];
	}
	yield [ 'tools/list', {}, 'ListToolsResult' ];
	yield tool('list_task_templates', {});
	yield tool('get_runtime_profile', {});
	yield tool('run_task_template', batch('/slow?1', { mode: 'sync' }),
	    { _meta: { progressToken: 'p' } });
	yield tool('run_task_template', batch('/news', { mode: 'async' }));
	yield tool('list_task_runs', { limit: 2 });
	yield tool('get_task_run', { runId: ctx.runId, include: [ 'output' ] });
	yield tool('get_artifact', { artifactId: ctx.artifactId, limit: 100 });
	yield tool('subscribe_task_run_events',
	    { runId: ctx.runId, afterSeq: 0 });
	yield tool('cancel_task_run', { runId: ctx.runId });
	yield tool('get_task_run', { runId: 'none' });
	yield tool('run_task_template', { templateId: 7 });
	yield [ 'resources/templates/list', {}, 'ListResourceTemplatesResult' ];
	yield [ 'resources/list', {}, 'ListResourcesResult' ];
	yield [ 'resources/read', { uri: `run://${ctx.runId}` },
		'ReadResourceResult' ];
	yield [ 'resources/read', { uri: `artifact://${ctx.artifactId}` },
		'ReadResourceResult' ];
	yield [ 'prompts/list', {}, 'ListPromptsResult' ];
	yield [ 'prompts/get', { name: 'batch_extract_pages', arguments: {
		urls: '["https://example.org/"]', csv: 'true' } },
		'GetPromptResult' ];
	yield [ 'completion/complete', { argument: { name: 'runId',
		value: 'run_' }, ref: { type: 'ref/resource',
		uri: 'run://{runId}' } }, 'CompleteResult' ];
	yield [ 'completion/complete', { argument: { name: 'artifactId',
		value: '' }, ref: { type: 'ref/resource',
		uri: 'artifact://{artifactId}' } }, 'CompleteResult' ];
	yield [ 'completion/complete', { argument: { name: 'mode', value: '' },
		ref: { type: 'ref/prompt', name: 'batch_extract_pages' } },
		'CompleteResult' ];
	if (modern(rev)) {
		yield* tasks(ctx);
	} else {
		yield tool('run_task_template',
		    batch('/never-headers', { mode: 'async' }));
		yield [ 'resources/subscribe', { uri: `run://${ctx.newId}` },
			'EmptyResult' ];
		yield tool('cancel_task_run', { runId: ctx.newId });
		yield [ 'resources/unsubscribe', { uri: `run://${ctx.newId}` },
			'EmptyResult' ];
		yield [ 'resources/subscribe', { uri: 'run://none' }, 'E' ];
	}
	if (rev === '2025-11-25')
		yield* oldTasks(ctx);
	yield [ 'prompts/get', { name: 'none' }, 'E' ];
	yield [ 'prompts/get', { name: 'login_keep_session',
		arguments: { credentials: '{}' } }, 'E' ];
	yield [ 'prompts/get', { name: 'batch_extract_pages',
		arguments: { urls: 'no JSON' } }, 'E' ];
	yield [ 'completion/complete', {}, 'E' ];
	yield [ 'resources/read', { uri: 'artifact://none' }, 'E' ];
	yield [ 'resources/read', { uri: 'file:///etc/passwd' }, 'E' ];
	yield [ 'resources/list', { cursor: 'none' }, 'E' ];
	yield [ 'tools/call', { name: 'none' }, 'E' ];
	yield [ 'tools/call', {}, 'E' ];
	yield [ 'no/such/method', {}, 'E' ];
}

// As the core of one revision has them.
function* oldTasks(ctx) {
	const run = (path) => [ 'tools/call', { name: 'run_task_template',
		arguments: batch(path, {}), task: { ttl: 60000 } },
		'CreateTaskResult' ];
	const on = (method, type) => [ method, { taskId: ctx.taskId }, type ];

	yield run('/slow?3');
	yield on('tasks/get', 'GetTaskResult');
	yield on('tasks/result', 'GetTaskPayloadResult');
	yield on('tasks/result', 'CallToolResult');
	yield on('tasks/get', 'GetTaskResult');
	yield on('tasks/cancel', 'E');
	yield run('/never-headers');
	yield on('tasks/cancel', 'CancelTaskResult');
	yield on('tasks/get', 'GetTaskResult');
	yield [ 'tasks/list', {}, 'ListTasksResult' ];
	yield [ 'tasks/list', { cursor: 'none' }, 'E' ];
	yield [ 'tasks/get', { taskId: 'none' }, 'E' ];
}

// The extension's own schema; ext marks a request that declares it.
function* tasks(ctx) {
	const run = (path) => [ 'tools/call', { name: 'run_task_template',
		arguments: batch(path, {}) },
		'tasks#/$defs/CreateTaskResult', 'ext' ];
	const id = (more) => ({ taskId: ctx.taskId, ...more });
	const get = () => [ 'tasks/get', id(), 'tasks#/$defs/GetTaskResult',
		'ext' ];

	yield [ 'tasks/get', { taskId: ctx.runId }, 'E' ];
	yield [ 'tasks/get', { taskId: 'none' }, 'E', 'ext' ];
	yield run('/slow?2');
	do
		yield get();
	while (ctx.task.status === 'working');
	ok(ctx.task.status === 'completed', 'the task is completed', ctx.task);
	yield run('/never-headers');
	ctx.peer.write({ jsonrpc: '2.0', id: 'listen',
		method: 'subscriptions/listen', params: ctx.peer.envelope({
			notifications: { resourceSubscriptions:
			    [ `run://${ctx.taskId}` ],
			    taskIds: [ ctx.taskId ] } }) });
	yield get();
	yield [ 'tasks/update', id({ inputResponses: {} }),
		'tasks#/$defs/UpdateTaskResult', 'ext' ];
	yield [ 'tasks/cancel', id(), 'tasks#/$defs/CancelTaskResult', 'ext' ];
	do
		yield get();
	while (ctx.task.status === 'working');
	ok(ctx.task.status === 'cancelled', 'the task is cancelled', ctx.task);
}

function remember(ctx, method, answer) {
	ctx.taskId = answer.result?.taskId ?? answer.result?.task?.taskId ??
	    ctx.taskId;
	ctx.task = answer.result;
	const structure = JSON.parse(answer.result?.content?.[0]?.text ?? '{}');
	if (method === 'tools/list')
		ctx.tools = answer.result.tools;
	ctx.newId = structure.runId ?? ctx.newId;
	if (structure.artifactIds?.length) {
		ctx.runId = structure.runId;
		ctx.artifactId = structure.artifactIds[0];
	}
}

function errorType(rev) {
	return rev < '2025-11-25' ? 'JSONRPCError' : 'JSONRPCErrorResponse';
}

// A tool's structure against the schema the tool shows.
function structured(ctx, params, result) {
	const shown = ctx.tools?.find((t) => t.name === params.name);
	if (!shown?.outputSchema || result.isError)
		return '';
	if (result.structuredContent === undefined)
		return 'no structuredContent';
	const ajv = new Ajv2020({ strict: false });
	return ajv.validate(shown.outputSchema, result.structuredContent)
	    ? '' : ajv.errorsText();
}

function schemasOf(tools, rev) {
	const ajv = new Ajv2020({ strict: false });
	for (const t of tools)
		for (const s of [ t.inputSchema, t.outputSchema ])
			if (s && !ajv.validateSchema(s))
				return `${t.name}: ${ajv.errorsText()}`;
	return '';
}

async function odd(peer) {
	peer.child.stdin.write('{"jsonrpc":"2.0","id":1,\n');
	peer.write({ jsonrpc: '2.0', id: 'no method' });
	if (peer.rev === '2025-03-26') {
		peer.waiting.delete('b1');
		const both = new Promise((resolve) => {
			peer.waiting.set('b2', resolve);
		});
		peer.write([ { jsonrpc: '2.0', id: 'b1', method: 'ping' },
			{ jsonrpc: '2.0', id: 'b2', method: 'tools/list' } ]);
		await both;
	}
	// Answered in turn: what came before has been answered, too.
	await peer.ask('tools/list', {});
}

async function talk(rev) {
	const check = validator(rev);
	const peer = new Peer(rev);
	const ctx = { peer };
	for (const [method, params, type, ext] of conversation(rev, ctx)) {
		const name = `${rev} ${method} ${params.name ?? ''}`.trim();
		peer.capabilities = ext ? { extensions: {
			[`${meta}tasks`]: {} } } : {};
		const answer = await peer.ask(method, params);
		if (type === 'E') {
			const wrong = answer.error
			    ? check(errorType(rev), answer) : 'no error';
			ok(wrong === '', `${name}: error`, wrong, answer);
			continue;
		}
		const wrong = answer.result
		    ? check(type, answer.result) : 'an error';
		ok(wrong === '', `${name}: ${type}`, wrong, answer);
		if (method === 'initialize')
			peer.write({ jsonrpc: '2.0',
				method: 'notifications/initialized' });
		remember(ctx, method, answer);
		if (answer.result.status === 'working')
			await new Promise((resolve) => {
				setTimeout(resolve,
				    answer.result.pollIntervalMs ?? 0);
			});
		if (answer.result.status === 'completed' && ext) {
			const unfit = check('CallToolResult',
			    answer.result.result);
			ok(unfit === '', `${name}: has a CallToolResult`, unfit,
			    answer);
		}
		if (type === 'CallToolResult' && !ext) {
			const unfit = structured(ctx, params, answer.result);
			ok(unfit === '', `${name}: fits its outputSchema`, unfit,
			    answer.result);
		}
	}
	const bad = schemasOf(ctx.tools, rev);
	ok(bad === '', `${rev}: the tools' schemas are schemas`, bad);
	await odd(peer);
	let wrong = peer.lines.map((l) => [ check('JSONRPCMessage', l), l ])
	    // An error about a line that has no id cannot have one: the schemas
	    // before 2025-11-25 asked for it all the same.
	    .filter(([ w, l ]) => w !== '' && !(rev < '2025-11-25' &&
		l.error && !('id' in l)));
	ok(wrong.length === 0, `${rev}: all of ${peer.lines.length} lines are` +
	    ' JSONRPCMessage', ...wrong);
	wrong = peer.notes.map((n) => [ check(n.method === 'notifications/tasks'
		? 'tasks#/$defs/TaskStatusNotification' : 'ServerNotification',
	    n), n ])
	    .filter(([ w ]) => w !== '');
	ok(peer.notes.length > 0 && wrong.length === 0, `${rev}: all of ` +
	    `${peer.notes.length} notifications are the schema's`, ...wrong);
	await peer.end();
	if (!modern(rev))
		return;
	wrong = check('SubscriptionsListenResult',
	    peer.lines.find((l) => l.id === 'listen')?.result);
	ok(wrong === '', `${rev}: the subscription ends with its result`, wrong);
	ok(peer.notes.some((n) => n.method ===
		'notifications/subscriptions/acknowledged') &&
	    peer.notes.some((n) => n.method ===
		'notifications/resources/updated') &&
	    peer.notes.some((n) => n.method === 'notifications/tasks'),
	    `${rev}: it was told of changes`, peer.notes);
}

try {
	for (const rev of revisions)
		await talk(rev);
	done();
} catch (error) {
	crash(error);
}
