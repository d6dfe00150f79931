#!/usr/bin/perl
# The envelope of every run, however it ended, keeps the rules of TaskResult v0
# (sections 2 to 6 of that document). The worker is t/scenario/scripted.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use JSON::PP ();
use Test::More;

my $build = $ENV{builddir} // die "builddir is not set\n";
my @keys = sort qw(version ok trace_id facts_snapshot_id facts_snapshot_source
    task_type result artifacts steps trace_lines error);
my $i = BrowserTask::Harness->new(
	programs => { workerd => "$build/t/scenario/scripted" },
	settings => [ 'maxConcurrentRuns=1', 'pingMs=100', 'silentMs=700' ])
    ->start;
my $c = client($i);

sub script {
	my ($words, %options) = @_;
	my $template = delete $options{template} // 'scripted';
	my $inputs = delete $options{inputs} // {};
	return $c->run($template, { do => [ split ' ', $words ], %$inputs },
		{ mode => 'async', %options });
}

sub is_bool { return JSON::PP::is_bool($_[0]) }
sub is_text { return defined $_[0] && !ref $_[0] && length $_[0] }
sub is_count { return defined $_[0] && !ref $_[0] && $_[0] =~ /^\d+$/ }

# Every text below a value.
sub texts {
	my ($v) = @_;
	return map { texts($_) } ref $v eq 'HASH' ? values %$v : @$v
	    if ref $v eq 'HASH' || ref $v eq 'ARRAY';
	return defined $v && !ref $v ? $v : ();
}

# What is wrong with a step, '' when nothing is.
sub step_fault {
	my ($s) = @_;
	return 'keys' if join(' ', sort keys %$s) ne
	    'duration_ms error_code meta name ok';
	return 'name' unless is_text($s->{name}) && $s->{name} =~ /^[a-z]\w*$/;
	return 'ok' unless is_bool($s->{ok});
	return 'duration_ms' unless is_count($s->{duration_ms});
	return 'meta' unless ref $s->{meta} eq 'HASH';
	return 'error_code of a step that is well'
	    if $s->{ok} && defined $s->{error_code};
	return 'no error_code' if !$s->{ok} && !is_text($s->{error_code});
	return '';
}

sub error_fault {
	my ($out) = @_;
	my $e = $out->{error};
	my ($first) = grep { !$_->{ok} } @{ $out->{steps} };

	return defined $e ? 'an error of a run that is well'
	    : $first ? 'a failed step of a run that is well' : ''
	    if $out->{ok};
	return 'no error' unless ref $e eq 'HASH';
	return 'keys' if join(' ', sort keys %$e) ne
	    'code message retryable step';
	return 'code' unless is_text($e->{code}) && $e->{code} =~ /^[A-Z_]+$/;
	return 'message' unless is_text($e->{message});
	return 'retryable' unless is_bool($e->{retryable});
	return 'no failed step' unless $first;
	return "step: $e->{step}, not $first->{name}"
	    if $e->{step} ne $first->{name};
	return '';
}

# The rules that hold for all; $r is a terminal run with output.
sub sound {
	my ($r, $name, $status, %want) = @_;
	my $out = $r->{output};
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	subtest $name => sub {
		is($r->{status}, $status, 'status');
		is_deeply([ sort keys %$out ], \@keys, 'eleven keys');
		is($out->{version}, 'task_result_v0', 'version');
		ok(is_bool($out->{ok}), 'ok is a boolean');
		is($out->{ok} ? 1 : 0,
			$status =~ /succ/ ? 1 : 0, 'and follows the status');
		like($out->{trace_id}, qr/^[0-9a-f]{32}$/, 'trace_id');
		is($out->{trace_id}, $r->{traceId}, 'is the run\'s');
		is($out->{task_type}, $r->{templateId}, 'task_type');
		is($out->{facts_snapshot_id}, $want{facts}, 'facts');
		is($out->{facts_snapshot_source},
			$want{facts} && 'input_json', 'their source');
		is(ref $out->{result}, 'HASH', 'result');
		is(ref $out->{artifacts}, 'HASH', 'artifacts');
		ok(!(grep { length > 32768 } texts($out->{artifacts})),
			'without long texts');
		ok(!(grep { ref ne 'ARRAY' } values %{ $out->{artifacts} }),
			'by kind');
		is(ref $out->{steps}, 'ARRAY', 'steps');
		is(step_fault($_), '', "step $_->{name}")
		    for @{ $out->{steps} };
		is(ref $out->{trace_lines}, 'ARRAY', 'trace_lines');
		ok(!(grep { !is_text($_) } @{ $out->{trace_lines} }),
			'are texts');
		is(error_fault($out), '', 'error');
		is($out->{error} && $out->{error}{code}, $want{code}, 'code');
		is($out->{error} && $out->{error}{step}, $want{step}, 'step')
		    if exists $want{step};
		is_deeply([ map { "$_->{name} " . ($_->{error_code} // 'ok') }
			@{ $out->{steps} } ], $want{steps}, 'all steps')
		    if $want{steps};
		is(scalar @{ $out->{result}{items} // [] }, $want{items},
			'items that were finished') if defined $want{items};
		my ($row) = grep { $_->{kind} eq 'task_result' } @{ $c->call(
			'artifact.list', { runId => $r->{runId} })
			->{artifacts} };
		my $stored = JSON::PP->new->utf8->decode(
			artifact($c, $row->{artifactId}));
		is_deeply($stored, $out, 'the artifact is the same');
	};
}

my $trace = '0af7651916cd43dd8448eb211c80319c';
my $facts = 'ab' x 32;

my $r = script('step:a item done:a step:b item done:b warn art',
	traceId => $trace, factsSnapshotId => $facts);
$r = ended($c, $r->{runId});
is($r->{output}{trace_id}, $trace, 'a trace id that was given is kept');
sound($r, 'a run that succeeds', 'succeeded', facts => $facts, items => 2,
	steps => [ 'a ok', 'b ok' ]);
is_deeply([ sort keys %{ $r->{output}{artifacts} } ],
	[ qw(extraction markdown) ], 'its artifacts');

$r = script('item', inputs => { trace_id => $trace });
$r = ended($c, $r->{runId});
is($r->{output}{trace_id}, $trace, 'so is one among the inputs');
for my $bad ('0' x 32, uc $trace, 'short', '') {
	$r = script('item', inputs => { trace_id => $bad });
	$r = ended($c, $r->{runId});
	isnt($r->{output}{trace_id}, $bad, "one that is none is not: '$bad'");
	sound($r, "and another is made: '$bad'", 'succeeded');
}
like(script('item', factsSnapshotId => uc $facts)->{message},
	qr/factsSnapshotId/, 'a snapshot id that is none is refused');

$r = ended($c, script('step:a item bad item done:a')->{runId});
sound($r, 'one that succeeds in part', 'partial_success', items => 3,
	steps => ['a ok']);

$r = ended($c, script('step:a item bad bad bad done:a')->{runId});
sound($r, 'one of which too little is well', 'failed', items => 4,
	code => 'BELOW_THRESHOLD', step => 'a');

$r = ended($c, script('step:a done:a step:login stepfail:login '
	. 'fail:ELEMENT_NOT_FOUND', template => 'fragile')->{runId});
sound($r, 'one whose step fails', 'failed', code => 'ELEMENT_NOT_FOUND',
	step => 'login', steps => [ 'a ok', 'login ELEMENT_NOT_FOUND' ]);

$r = ended($c, script('step:a done:a fail:TEMPLATE_FAULT',
	template => 'fragile')->{runId});
sound($r, 'one that fails between steps', 'failed',
	code => 'TEMPLATE_FAULT', step => 'a',
	steps => [ 'a ok', 'a TEMPLATE_FAULT' ]);

# On a machine that is too slow for its browser to start it is that step.
$r = ended($c, script('step:a item deaf', timeoutMs => 3000)->{runId});
my $begun = $r->{output}{steps}[0]{name} ne 'start';
note 'too slow to begin' if !$begun;
sound($r, 'one that takes too long', 'failed', code => 'RUN_TIMEOUT',
	step => $begun ? 'a' : 'start', items => $begun ? 1 : 0,
	steps => [ $begun ? 'a RUN_TIMEOUT' : 'start RUN_TIMEOUT' ]);

for my $how (qw(exit mute garbage)) {
	my %code = (exit => 'WORKER_LOST', mute => 'WORKER_SILENT',
		garbage => 'WORKER_PROTOCOL');
	$r = ended($c, script("step:a item $how")->{runId});
	sound($r, "one whose worker fails: $how", 'failed',
		code => $code{$how}, step => 'a');
}

$r = ended($c, script('step:a item crash')->{runId});
sound($r, 'one whose browser crashes', 'failed', code => 'PAGE_CRASHED',
	step => 'a', items => 1);

# One holds the only slot, the other never gets it.
my $held = script('step:a item hold', factsSnapshotId => $facts);
my $queued = script('item', traceId => $trace);
$c->call('run.cancel', { runId => $queued->{runId} });
$r = ended($c, $queued->{runId});
is($r->{output}{trace_id}, $trace, 'also of one that never ran');
sound($r, 'one that never started', 'canceled', code => 'RUN_CANCELED',
	step => 'queue', steps => ['queue RUN_CANCELED'], items => 0);
done($c, $held->{runId}, 1);
$c->call('run.cancel', { runId => $held->{runId} });
$r = ended($c, $held->{runId});
sound($r, 'one that is canceled', 'canceled', code => 'RUN_CANCELED',
	step => 'a', steps => ['a RUN_CANCELED'], items => 1,
	facts => $facts);

# What may have clicked is not done again.
$held = script('step:click art hold', template => 'fragile');
event($c, $held->{runId}, 120, sub { $_[0]{type} eq 'artifact_created' });
$i->stop('KILL');
$c->closed;
$c = client($i->start);
$r = ended($c, $held->{runId});
sound($r, 'one that the service left when it died', 'failed',
	code => 'SUPERVISOR_RESTART');
ok($r->{output}{artifacts}{markdown}, 'its artifact is named');

$i->stop;
is(left(60), '', 'no process is left');
done_testing();
