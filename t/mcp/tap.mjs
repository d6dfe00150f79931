// tap: the little of TAP that the tests in this directory print.
import { isDeepStrictEqual } from 'node:util';

let count = 0;
let failed = 0;

export function ok(good, name, ...diag) {
	count++;
	if (!good)
		failed++;
	console.log(`${good ? 'ok' : 'not ok'} ${count} - ${name}`);
	if (!good)
		for (const d of diag)
			console.log(`# ${JSON.stringify(d)}`.slice(0, 2000));
	return good;
}

export function is(got, expected, name) {
	return ok(isDeepStrictEqual(got, expected), name, { got, expected });
}

export function note(text) {
	console.log(`# ${text}`);
}

export function done() {
	console.log(`1..${count}`);
	process.exit(failed === 0 ? 0 : 1);
}

export function crash(error) {
	ok(false, 'the program runs to its end', String(error?.stack ?? error));
	done();
}
