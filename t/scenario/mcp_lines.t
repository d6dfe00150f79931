#!/usr/bin/perl
# The adapter's protocol with raw lines, without any service: revisions and
# eras, ids, batches, bad lines of every kind, ends.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Mcp;
use JSON::PP ();
use Test::More;
use Time::HiRes qw(time);

my $json = JSON::PP->new->utf8->canonical->allow_nonref;
my $meta = 'io.modelcontextprotocol';
my $none = ['-n', '-s', '/nonexistent/client.sock'];
my @tools = qw(list_task_templates run_task_template get_task_run
    list_task_runs cancel_task_run get_artifact get_runtime_profile
    subscribe_task_run_events);

sub adapter { return BrowserTask::Mcp->new(args => $none) }

sub error_code {
	my ($m, $text) = @_;
	$m->send($text);
	my $a = $m->line;
	return $a->{error}{code}
	    . (exists $a->{id} ? " id $a->{id}" : ' no id');
}

# Revisions.
for my $revision (qw(2024-11-05 2025-03-26 2025-06-18 2025-11-25)) {
	my $m = adapter();
	my $r = $m->init($revision);
	is $r->{protocolVersion}, $revision, "$revision: agreed";
	ok $r->{capabilities}{tools} && $r->{serverInfo}{name}
	    && $r->{instructions}, '... with capabilities and instructions';
	my $list = $m->ask('tools/list')->{result}{tools};
	is_deeply [ map { $_->{name} } @$list ], \@tools, '... eight tools';
	my $new = $revision ge '2025-06-18';
	is scalar(grep { !!$_->{outputSchema} != $new || !!$_->{title} != $new }
	    @$list), 0, '... titles and output schemas where they are known';
	is scalar(grep { !!$_->{annotations} != ($revision ge '2025-03-26') }
	    @$list), 0, '... annotations where they are known';
	is scalar(grep { length $_->{description} < 100
	    || $_->{inputSchema}{type} ne 'object' } @$list), 0,
	    '... all described';
	is_deeply $m->ask('ping')->{result}, {}, '... ping';
	is $m->ask($_)->{error}{code}, -32601, "... no $_"
	    for 'logging/setLevel', 'x';
	is $m->ask('tools/list', { cursor => 'x' })->{error}{code}, -32602,
	    '... a cursor nobody gave out';
	$m->eof;
	is $m->wait, 0, '... ends with its input';
}
my $m = adapter();
is $m->init('2199-01-01')->{protocolVersion}, '2025-11-25',
    'an unknown revision: the newest that has initialize';
is $m->init('2026-07-28')->{protocolVersion}, '2025-11-25',
    '... and so for one that has none';

# Every member of a tool's schema is described.
sub undescribed {
	my ($schema, $path) = @_;
	my @bad;
	for my $name (sort keys %{ $schema->{properties} // {} }) {
		my $p = $schema->{properties}{$name};
		push @bad, "$path/$name" if length($p->{description} // '') < 3;
		push @bad, undescribed($p, "$path/$name"),
		    undescribed($p->{items} // {}, "$path/$name");
	}
	return @bad;
}
for my $t (@{ $m->ask('tools/list')->{result}{tools} }) {
	is join(' ', undescribed($t->{inputSchema}, 'in'),
	    undescribed($t->{outputSchema}, 'out')), '',
	    "$t->{name}: every member is described";
	is $t->{outputSchema}{type}, 'object', '... output is an object';
	ok !$t->{outputSchema}{required}, '... which an error would fit';
}
$m->eof;

# Before initialize.
$m = adapter();
is_deeply $m->ask('ping')->{result}, {}, 'ping before initialize';
is $m->ask('tools/list')->{error}{code}, -32602, '... but nothing else';
is $m->ask('initialize', $_)->{error}{code}, -32602, 'initialize without sense'
    for {}, { protocolVersion => 1 },
    { protocolVersion => '2025-06-18', capabilities => [] },
    { protocolVersion => '2025-06-18', clientInfo => 'x' };

# The modern era, in the same process as the legacy one.
sub modern { return { _meta => { "$meta/protocolVersion" => $_[0],
	"$meta/clientCapabilities" => {}, %{ $_[1] // {} } } } }
my $d = $m->ask('server/discover', modern('2026-07-28'))->{result};
is $d->{resultType}, 'complete', 'discover';
is $d->{supportedVersions}[0], '2026-07-28', '... newest first';
is scalar @{ $d->{supportedVersions} }, 5, '... all five';
ok $d->{capabilities}{tools} && $d->{ttlMs} > 0 && $d->{cacheScope} eq 'public'
    && $d->{_meta}{"$meta/serverInfo"}{name}, '... complete';
is $m->ask('tools/list')->{error}{code}, -32602,
    'a probe does not choose the era';
my $list = $m->ask('tools/list', modern('2026-07-28'))->{result};
ok $list->{resultType} eq 'complete' && defined $list->{ttlMs}
    && $list->{cacheScope} && @{ $list->{tools} } == 8, 'a modern list';
is $m->ask('ping', modern('2026-07-28'))->{error}{code}, -32601,
    'no ping in the modern era';
my $e = $m->ask('tools/list', modern('1900-01-01'))->{error};
is $e->{code}, -32022, 'an unknown version';
is $e->{data}{requested}, '1900-01-01', '... is repeated';
is scalar @{ $e->{data}{supported} }, 5, '... the known are told';
is $m->ask('tools/list', modern('2025-11-25'))->{error}{code}, -32022,
    'a legacy version in the envelope';
is $m->ask('tools/list', { _meta => $_ })->{error}{code}, -32602,
    'an incomplete envelope'
    for { "$meta/protocolVersion" => '2026-07-28' },
    { "$meta/protocolVersion" => 3, "$meta/clientCapabilities" => {} },
    { "$meta/protocolVersion" => '2026-07-28',
	"$meta/clientCapabilities" => [] };
is $m->ask('server/discover')->{error}{code}, -32602, 'discover without one';
is $m->init->{protocolVersion}, '2025-11-25', 'then initialize';
ok $m->ask('tools/list')->{result}, '... agrees';
ok $m->ask('tools/list', modern('2026-07-28'))->{result}{resultType},
    '... and the modern era is still there';
ok !exists $m->ask('tools/list')->{result}{resultType}, '... beside it';

# Ids come back as they were written.
for my $id ('0', '-1', '9007199254740991', '-9007199254740991', '1.50',
	'1e3', '""', '"a"', '"\u0061\n\"\\\\"', '"' . 'x' x 4000 . '"') {
	$m->send(qq({"jsonrpc":"2.0","id":$id,"method":"ping"}));
	is $m->raw, qq({"jsonrpc":"2.0","id":$id,"result":{}}),
	    'id ' . substr $id, 0, 30;
}

# What is no request.
is error_code($m, $_->[0]), $_->[1], substr("bad line: $_->[0]", 0, 60) for
    [ 'hello', '-32700 no id' ],
    [ '{"jsonrpc":"2.0","id":1,"method":"ping"', '-32700 no id' ],
    [ "\xff\xfe", '-32700 no id' ],
    [ '7', '-32600 no id' ], [ '"x"', '-32600 no id' ],
    [ 'null', '-32600 no id' ], [ '[]', '-32600 no id' ],
    [ '[1]', '-32600 no id' ],
    [ '{}', '-32600 no id' ],
    [ '{"id":4}', '-32600 id 4' ],
    [ '{"jsonrpc":"1.0","id":4,"method":"ping"}', '-32600 id 4' ],
    [ '{"jsonrpc":2.0,"id":4,"method":"ping"}', '-32600 id 4' ],
    [ '{"jsonrpc":"2.0","id":4}', '-32600 id 4' ],
    [ '{"jsonrpc":"2.0","id":4,"method":5}', '-32600 id 4' ],
    [ '{"jsonrpc":"2.0","id":null,"method":"ping"}', '-32600 no id' ],
    [ '{"jsonrpc":"2.0","id":{},"method":"ping"}', '-32600 no id' ],
    [ '{"jsonrpc":"2.0","id":true,"method":"ping"}', '-32600 no id' ],
    [ '{"jsonrpc":"2.0","id":"' . 'y' x 5000 . '","method":"ping"}',
	'-32600 id ' . 'y' x 5000 ],
    [ '{"jsonrpc":"2.0","id":4,"method":"ping","params":[]}', '-32602 id 4' ],
    [ '{"jsonrpc":"2.0","id":4,"method":"ping","params":7}', '-32602 id 4' ],
    [ '{"jsonrpc":"2.0","id":4,"method":"x' . 'x' x 3000 . '"}',
	'-32601 id 4' ],
    [ '{"jsonrpc":"2.0","id":4,"method":"ping","params":{"x":'
	. '[' x 1000 . ']' x 1000 . '}}', '-32600 id 4' ],
    [ '{"x":' . '[' x 100000 . ']' x 100000 . ',"id":"deep"}',
	'-32600 id deep' ],
    [ '[' x 500000, '-32600 no id' ],
    [ '{"jsonrpc":"2.0","id":4,"method":"tools/call"}', '-32602 id 4' ],
    [ '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":7}}',
	'-32602 id 4' ],
    [ '{"jsonrpc":"2.0","id":4,"method":"tools/call",'
	. '"params":{"name":"nothing"}}', '-32602 id 4' ],
    [ '{"jsonrpc":"2.0","id":4,"method":"tools/call",'
	. '"params":{"name":"get_task_run","arguments":[]}}', '-32602 id 4' ],
    [ 'x' x (9 << 20), '-32600 no id' ];

# Nothing is said to these.
$m->send($_) for '', '   ', "\r", '{"jsonrpc":"2.0","method":"x"}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled"}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled",'
	. '"params":{"requestId":77}}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled",'
	. '"params":{"requestId":{}}}',
    '{"jsonrpc":"2.0","id":1,"result":{}}',
    '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}';
$m->send("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}\r");
is $m->line->{id}, 5, 'notifications, responses and blank lines: silence';

# Partial and glued writes.
syswrite $m->{in}, $_ for '{"jsonrpc":"2.0",', '"id":6,"me', 'thod":"ping"}',
    "\n" . qq({"jsonrpc":"2.0","id":7,"method":"ping"}\n) x 3;
is_deeply [ map { $m->line->{id} } 1 .. 4 ], [ 6, 7, 7, 7 ],
    'pieces and several lines at once';

# Wrong arguments are the tool's error, so that a model can mend them.
my %wrong = (
	run_task_template => [ {}, { templateId => 7 }, { templateId => '' },
		{ templateId => 'x' x 65 }, { templateId => "a\0b" },
		{ templateId => 'a', inputs => [] },
		{ templateId => 'a', inputs => 'x' },
		{ templateId => 'a', options => 7 },
		{ templateId => 'a', options => { x => 'y' x 70000 } },
		{ templateId => 'a', sessionId => {} } ],
	get_task_run => [ {}, { runId => undef }, { runId => [] },
		{ runId => 'run_x', include => 7 },
		{ runId => 'run_x', include => [7] },
		{ runId => 'run_x', include => [ 'x' x 300 ] } ],
	list_task_runs => [ { limit => 0 }, { limit => 1001 },
		{ limit => '5' }, { limit => 1.5 }, { offset => -1 },
		{ limit => 1e300 }, { status => 3 }, { since => 'x' } ],
	get_artifact => [ {}, { artifactId => 'art_x', offset => -1 },
		{ artifactId => 'art_x', limit => 262145 } ],
	subscribe_task_run_events => [ {}, { runId => 'r', timeoutMs => 60001 },
		{ runId => 'r', afterSeq => -1 } ],
	cancel_task_run => [ {}, { runId => 1 } ],
);
for my $tool (sort keys %wrong) {
	for my $arguments (@{ $wrong{$tool} }) {
		my $r = $m->tool($tool, $arguments);
		my $doc = $m->doc($r);
		ok $r->{isError} && $doc->{errorCode} eq 'INVALID_PARAMETER'
		    && $doc->{message} =~ m{^/\w} && $doc->{recoverHint}
		    && !$r->{structuredContent},
		    substr "$tool " . $json->encode($arguments), 0, 60
		    or diag explain $r;
	}
}

# No service: a clear error, at once.
my $was = time;
for my $tool (@tools) {
	my %need = (runId => 'run_x', artifactId => 'art_x',
		templateId => 'batch_extract_pages');
	my $r = $m->tool($tool, $tool =~ /^(list|get_runtime)/ ? {} : \%need);
	my $doc = $m->doc($r);
	ok $r->{isError} && $doc->{errorCode} eq 'EXECUTION_ERROR'
	    && $doc->{details}{cause} eq 'SERVICE_UNAVAILABLE'
	    && $doc->{message} =~ m{/nonexistent/client.sock}
	    && $doc->{retryable}, "$tool without a service";
}
cmp_ok time - $was, '<', 20, '... is told soon';
$m->eof;
is $m->wait, 0, 'it ends';

# Batches, where the revision has them.
$m = adapter();
$m->init('2025-03-26');
$m->send([ { jsonrpc => '2.0', id => 1, method => 'ping' },
	{ jsonrpc => '2.0', method => 'notifications/x' },
	{ jsonrpc => '2.0', id => 'two', method => 'nothing' }, 5,
	{ jsonrpc => '2.0', id => 3, method => 'tools/call', params =>
		{ name => 'get_runtime_profile' } },
	{ jsonrpc => '2.0', id => 4, method => 'initialize', params => {} } ]);
my $batch = $m->line;
is ref $batch, 'ARRAY', 'a batch is answered by an array';
is_deeply [ sort map { ($_->{id} // 'none') . ' '
	. ($_->{error}{code} // 'good') } @$batch ],
    [ '1 good', '3 good', '4 -32600', 'none -32600', 'two -32601' ],
    '... with an answer to each request';
$m->send([ { jsonrpc => '2.0', method => 'notifications/x' } ]);
is error_code($m, '[' . join(',', (1) x 257) . ']'), '-32600 no id',
    'too many at once; of notifications only: silence';
$m->send([ [], { jsonrpc => '2.0', id => 1, method => 'ping' } ]);
is scalar @{ $m->line }, 2, 'a batch in a batch is an error in it';
$m->init('2025-06-18');
is error_code($m, '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'),
    '-32600 no id', 'no batches in 2025-06-18';

# Ends.
$m->send('{"jsonrpc":"2.0","id":9,"method":"ping"}');
is $m->line->{id}, 9, 'still there';
syswrite $m->{in}, '{"jsonrpc":"2.0","id":10,"method":"ping"}';
$m->eof;
is $m->line->{id}, 10, 'a last line without its newline counts';
is $m->wait, 0, 'then it ends';
$m = adapter();
$m->init;
$m->kill('TERM');
is $m->wait, 0, 'SIGTERM ends it';
$m = adapter();
$m->init;
close $m->{out};
$m->send('{"jsonrpc":"2.0","id":9,"method":"ping"}');
is $m->wait, 0, 'so does a reader that is gone';

# A client that never reads: it is not read from, and nothing grows.
$m = adapter();
$m->init;
my $text = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' . "\n";
my $sent = 0;
$m->{in}->blocking(0);
while ($sent < 64 << 20) {
	my $bits = '';
	vec($bits, fileno $m->{in}, 1) = 1;
	last unless select undef, $bits, undef, 3;
	$sent += syswrite($m->{in}, $text x 1000) // 0;
}
cmp_ok $sent, '<', 4 << 20, 'what is not read is not answered for ever';
open my $status, '<', "/proc/$m->{pid}/status";
my ($rss) = join('', <$status>) =~ /VmRSS:\s+(\d+)/;
SKIP: {
	skip 'sanitizers need more', 1 if $ENV{LINT_SANITIZED} || $rss > 60000;
	cmp_ok $rss, '<', 40000, "... in $rss kB";
}
$m->kill;
$m->wait;

# What starting one costs.
my (@ms, $pss);
for (1 .. 5) {
	my $began = time;
	$m = adapter();
	$m->init;
	push @ms, 1000 * (time - $began);
	$m->ask('tools/list');
	if (open my $maps, '<', "/proc/$m->{pid}/smaps_rollup") {
		($pss) = join('', <$maps>) =~ /^Pss:\s+(\d+)/m;
	}
	$m->eof;
	$m->wait;
}
@ms = sort { $a <=> $b } @ms;
diag sprintf 'spawn to the answer of initialize: %.1f ms (best of 5 %.1f), '
    . 'PSS %s kB', $ms[2], $ms[0], $pss // 'unknown';
SKIP: {
	skip 'sanitizers need more', 1
	    if $ENV{LINT_SANITIZED} || !defined $pss || $rss > 60000;
	cmp_ok $pss, '<=', 2048, 'it holds at most 2 MiB';
}

# What browsertaskctl tells to put into a client's settings.
my $ctl = "$ENV{builddir}/ctl/browsertaskctl";
delete $ENV{BROWSERTASK_SOCKET};
for my $client (qw(generic claude-desktop cursor vscode)) {
	my $c = eval { $json->decode(scalar qx($ctl mcp-config $client)) };
	my $server = ($c->{mcpServers} // $c->{servers})->{browsertask};
	like $server->{command}, qr{^/.*/browsertask-mcp$}, "for $client";
	is !!$c->{servers}, $client eq 'vscode', '... in its form';
	is_deeply $server->{args}, [], '... without arguments';
}
is_deeply $json->decode(scalar qx($ctl -s '/a b' mcp-config))
    ->{mcpServers}{browsertask}{args}, [ '-s', '/a b' ], '... with a socket';
like qx($ctl -s "/a'b c" mcp-config claude-code),
    qr{^claude mcp add --scope user browsertask -- /\S+/browsertask-mcp -s '/a'\\''b c'$},
    'for claude-code: a command line';
like qx($ctl -s '/a "b' mcp-config codex), qr{
	^\[mcp_servers\.browsertask\]\n args\ =\ \["-s","/a\ \\"b"\]\n
	command\ =\ "/\S+/browsertask-mcp"\n$}x, 'for codex: a table of TOML';
is_deeply $json->decode(scalar qx(BROWSERTASK_SOCKET=/e $ctl mcp-config))
    ->{mcpServers}{browsertask}{args}, [ '-s', '/e' ], 'as the environment says';
is_deeply $json->decode(scalar
    qx(BROWSERTASK_SOCKET=/e $ctl -s /f mcp-config))
    ->{mcpServers}{browsertask}{args}, [ '-s', '/f' ], 'as an option says first';
is system("$ctl mcp-config nobody 2>/dev/null") >> 8, 2, 'for nobody';

done_testing;
