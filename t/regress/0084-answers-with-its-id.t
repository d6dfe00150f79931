#!/usr/bin/perl
# What is refused for its size is answered by the id of the request, or the
# client waits for ever: an id of 4,097 bytes, a line of 9 MiB with its id at
# either end. A late initialize is answered, too. No service is needed.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Mcp;
use JSON::PP ();
use Test::More;

my $m = BrowserTask::Mcp->new(args => ['-n']);

# The answer to a line, and what it says.
sub refused {
	my ($line, $id, $why, $name) = @_;
	$m->send($line);
	my $a = $m->line(60) // {};
	is_deeply([ @$a{qw(jsonrpc id)} ], [ '2.0', $id ],
		"$name: is answered by its id");
	is($a->{error}{code}, -32600, '... as an invalid request');
	like($a->{error}{message} // '', $why, '... which says the limit');
}

my $too_long = 'x' x 4095; # 4,097 bytes with its quotes
my $limit = qr/at most 4096 bytes/;
refused(qq({"jsonrpc":"2.0","id":"$too_long","method":"ping"}), $too_long,
	$limit, 'an id of 4,097 bytes');
my $huge = 'y' x (512 << 10);
refused(qq({"jsonrpc":"2.0","id":"$huge","method":"ping"}), $huge, $limit,
	'one of 512 KiB');
my $most = 'x' x 4094;
my $a = do { $m->send(qq({"jsonrpc":"2.0","id":"$most","method":"ping"}));
	$m->line(60) };
is($a->{id}, $most, 'one of 4,096 bytes is good');
ok($a->{result}, '... and its request, too');

# {"a":...} is where ids are that are not meant.
my $body = '{"a":"' . 'z' x (9 << 20) . '","id":77}';
my $lines = qr/longer than 8 MiB/;
for my $case (
	[ qq({"jsonrpc":"2.0","id":5,"method":"ping","params":$body}), 5,
	    'the id first' ],
	[ qq({"method":"ping","params":$body,"jsonrpc":"2.0","id":"e"}), 'e',
	    'the id last' ],
	[ qq( { "method" : "ping", "params" : $body, "id" : -6 } ), -6,
	    'with spaces' ],
	[ qq({"method":"ping","params":$body}), undef, 'no id of its own' ],
	[ qq({"method":"ping","params":$body,"id":[7]}), undef,
	    'an id that is none' ],
	[ qq({"id":1-2-,"method":"ping","params":$body}), undef,
	    'an id that is no JSON' ],
	[ qq("id":8), undef, 'no object', 'z' x (9 << 20) ],
) {
	my ($line, $id, $name, $before) = @$case;
	refused(($before // '') . $line, $id, $lines, "9 MiB, $name");
}
$m->send('{"jsonrpc":"2.0","id":1,"method":"ping"}');
is($m->line(60)->{id}, 1, 'the next line is one again');

# initialize, after other requests and again.
like($m->ask('tools/list')->{error}{message}, qr/^initialize first/,
	'before initialize: what to do');
$m->modern;
ok($m->ask('tools/list')->{result}, 'a request of its own revision');
delete $m->{modern};
is($m->init('2025-06-18')->{protocolVersion}, '2025-06-18',
	'a late initialize is answered');
ok($m->ask('tools/list')->{result}, '... and holds');
is($m->init('2024-11-05')->{protocolVersion}, '2024-11-05', 'a second one');
ok(!exists $m->ask('tools/list')->{result}{tools}[0]{title},
	'... holds from then on');

# The end of input is the end of a line.
print { $m->{in} } qq({"id":9,"method":"ping","params":$body and no end);
$m->eof;
is($m->line(60)->{id}, 9, 'a line without an end is answered, too');
is($m->wait, 0, 'the adapter ends');
done_testing();
