// sdk: drives the adapter with an official client, as an agent's program does.
// usage: node sdk.mjs v1|legacy|auto ADAPTER SITE
//   v1          SDK version 1
//   legacy      SDK version 2, which opens with initialize
//   auto        SDK version 2, which asks server/discover first
import { done, crash, is, note, ok } from './tap.mjs';

const [kind, adapter, site] = process.argv.slice(2);
const env = { ...process.env };
const info = { name: 'browsertaskd-test', version: '1' };
const final = ['succeeded', 'partial_success', 'failed', 'canceled'];

// Both versions behind one face: a client, and how it calls a tool.
async function connect() {
	const parts = kind === 'v1'
	    ? [ '@modelcontextprotocol/sdk/client/index.js',
		'@modelcontextprotocol/sdk/client/stdio.js' ]
	    : [ '@modelcontextprotocol/client',
		'@modelcontextprotocol/client/stdio' ];
	const { Client } = await import(parts[0]);
	const { StdioClientTransport } = await import(parts[1]);
	const client = new Client(info, {
		capabilities: {},
		versionNegotiation: { mode: kind === 'auto' ? 'auto' : 'legacy' },
	});
	await client.connect(new StdioClientTransport({
		command: adapter, args: [], env, stderr: 'inherit',
	}));
	return client;
}

function call(client, name, args, options = {}) {
	const params = { name, arguments: args };
	options = { timeout: 60000, ...options };
	return kind === 'v1'
	    ? client.callTool(params, undefined, options)
	    : client.callTool(params, options);
}

// The JSON text of an answer, which has to say what the structure says.
// The data of an artifact's chunk is a text of its own.
function answer(result, name) {
	const text = JSON.parse(result.content[0].text);
	if (result.content[1]?.type === 'text')
		text.data = result.content[1].text;
	if (!result.isError)
		is(text, result.structuredContent, `${name}: text is structure`);
	return text;
}

const batch = (paths, options) => ({
	templateId: 'batch_extract_pages',
	inputs: { urls: paths.map((p) => site + p) },
	options,
});

async function tools(client) {
	const { tools: list } = await client.listTools();
	is(list.map((t) => t.name).sort(), [ 'cancel_task_run', 'get_artifact',
		'get_runtime_profile', 'get_task_run', 'list_task_runs',
		'list_task_templates', 'run_task_template',
		'subscribe_task_run_events' ], 'the eight tools');
	is(list.filter((t) => !t.title || !t.outputSchema || !t.annotations ||
	    t.description.length < 20).map((t) => t.name), [],
	    'all with title, description, annotations and outputSchema');
}

async function sync(client) {
	const progress = [];
	const r = await call(client, 'run_task_template',
	    batch([ '/news', '/slow', '/login', '/article-harbour' ],
		{ mode: 'sync' }),
	    { onprogress: (p) => progress.push(p.progress) });
	const run = answer(r, 'sync');
	is(run.status, 'succeeded', 'a sync run succeeds');
	is(run.result.summary.succeeded, 4, 'all of it');
	ok(progress.length > 0, `progress came: ${progress}`);
	ok(progress.every((p, i) => i === 0 || p > progress[i - 1]),
	    'progress only rises');
	return run;
}

async function artifacts(client, run) {
	const got = answer(await call(client, 'get_task_run',
	    { runId: run.runId }), 'get');
	is(got.result, run.result, 'get_task_run has the same result');
	const id = got.artifactIds[0];
	let text = '';
	let chunk;
	do {
		chunk = answer(await call(client, 'get_artifact', { artifactId: id,
			offset: Buffer.byteLength(text), limit: 4096 }), 'chunk');
		text += chunk.data;
	} while (!chunk.complete);
	is(Buffer.byteLength(text), chunk.totalSize, 'chunks make the whole');
	is(JSON.parse(text).length, 4, 'which is what was extracted');
}

async function asynchronous(client) {
	const start = answer(await call(client, 'run_task_template',
	    batch([ '/news' ], { mode: 'async', idempotencyKey: `k-${kind}` })),
	    'async');
	ok([ 'queued', 'running' ].includes(start.status), 'async: not ended');
	const again = answer(await call(client, 'run_task_template',
	    batch([ '/news' ], { mode: 'async', idempotencyKey: `k-${kind}` })),
	    'again');
	is([ again.runId, again.deduplicated ], [ start.runId, true ],
	    'the same key is the same run');
	let after = 0;
	let events;
	do {
		events = answer(await call(client, 'subscribe_task_run_events',
		    { runId: start.runId, afterSeq: after, timeoutMs: 5000 }),
		    'events');
		after = events.lastSeq;
	} while (!final.includes(events.status));
	is(events.status, 'succeeded', 'its events end with its success');
}

async function cancel(client) {
	const run = answer(await call(client, 'run_task_template',
	    batch([ '/never', '/never?2' ], { mode: 'async' })), 'long');
	const c = answer(await call(client, 'cancel_task_run',
	    { runId: run.runId }), 'cancel');
	is(c.success, true, 'a run is canceled');
	const end = answer(await call(client, 'get_task_run',
	    { runId: run.runId }), 'canceled');
	is([ end.status, end.error?.errorCode ], [ 'canceled', 'RUN_CANCELED' ],
	    'and says so');
	const twice = answer(await call(client, 'cancel_task_run',
	    { runId: run.runId }), 'twice');
	ok(twice.success === false && twice.reason, 'twice is no error');
}

async function errors(client) {
	const none = 'run_00000000000000000000000000';
	const cases = [
		[ 'get_task_run', { runId: none }, 'RUN_NOT_FOUND' ],
		[ 'get_task_run', { runId: 7 }, 'INVALID_PARAMETER' ],
		[ 'run_task_template', { templateId: 'none', inputs: {} },
			'TEMPLATE_NOT_FOUND' ],
		[ 'run_task_template', { templateId: 'batch_extract_pages',
			inputs: {} }, 'INVALID_PARAMETER' ],
		[ 'get_artifact',
			{ artifactId: 'art_00000000000000000000000000' },
			'ARTIFACT_NOT_FOUND' ],
	];
	for (const [name, args, code] of cases) {
		const r = await call(client, name, args);
		const e = answer(r, name);
		is([ r.isError, e.errorCode ], [ true, code ], `${name}: ${code}`);
		ok(e.message && e.recoverHint, `${name}: ${code}: says what to do`);
	}
	const unknown = await call(client, 'no_such_tool', {}).then(
	    () => null, (e) => e);
	is(unknown?.code, -32602, 'an unknown tool is a protocol error');
}

// A client that goes away in the middle leaves its run behind.
async function gone() {
	const first = await connect();
	const key = `gone-${kind}`;
	call(first, 'run_task_template', batch([ '/slow?gone' ],
	    { mode: 'sync', idempotencyKey: key })).catch(() => null);
	await call(first, 'get_runtime_profile', {});
	await first.close();
	const second = await connect();
	const r = answer(await call(second, 'run_task_template',
	    batch([ '/slow?gone' ], { mode: 'sync', idempotencyKey: key })),
	    'second client');
	is([ r.status, r.deduplicated ], [ 'succeeded', true ],
	    'a second client gets the run of one that went away');
	await second.close();
}

try {
	const client = await connect();
	const server = client.getServerVersion();
	note(`${kind}: ${server.name} ${server.version}`);
	is(server.name, 'browsertask-mcp', 'connected');
	await tools(client);
	const list = answer(await call(client, 'list_task_templates', {}),
	    'templates');
	ok(list.templates.some((t) => t.id === 'batch_extract_pages'),
	    'templates are listed');
	ok(JSON.stringify(list).length <= 24576, 'in no more than 24 KiB');
	const one = answer(await call(client, 'list_task_templates',
	    { templateId: 'batch_extract_pages' }), 'one template');
	is(one.templates.map((t) => [ t.id, typeof t.outputs ]),
	    [ [ 'batch_extract_pages', 'object' ] ], 'one is shown in full');
	await artifacts(client, await sync(client));
	await asynchronous(client);
	await cancel(client);
	await errors(client);
	const profile = answer(await call(client, 'get_runtime_profile', {}),
	    'profile');
	is([ profile.trustLevel, profile.isRemote ], [ 'local', false ],
	    'the profile');
	await client.close();
	await gone();
	done();
} catch (error) {
	crash(error);
}
