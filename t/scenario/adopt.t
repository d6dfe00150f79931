#!/usr/bin/perl
# kill -9 of supervisord leaves cells and their runs alive, and the next one
# goes on with them: real launcher, cells, browser and pages, as root and as an
# ordinary user. Nothing is fetched, counted or told twice, and whatever may be
# asked of a run may be asked of one that has changed hands.
#
# SEED repeats a sequence.
use strict;
use warnings;
use BrowserTask::Gate;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure seeded sized);
use JSON::PP ();
use List::Util qw(min);
use Test::More;
use Time::HiRes qw(time sleep);

use constant { BATCHES => 5, KILLS_EACH => 10 };

my $build = $ENV{builddir} // '.';
my $kills = sized('kills of supervisord during ' . BATCHES . ' batches', 3, 50);
my $moments = sized('kills of supervisord at the end of a run', 4, 100);
seeded();

my $site = BrowserTask::Scenario::Site->new;

sub supervisord {
	my ($i) = @_;
	my ($p) = grep { $_->{cmd} =~ /^supervisord\b/ && $_->{state} ne 'Z' }
	    tree($i->{pid});
	return $p ? $p->{pid} : undef;
}

# Kills it; a connection to the next one; in a list also when it was dead.
sub replaced {
	my ($i) = @_;
	my $pid = wait_until(60, sub { supervisord($i) });

	kill 'KILL', $pid;
	my $was = time;
	my $c = wait_until(60, sub {
		return eval {
			my $c = client($i);
			$c->call('profile.get')->{pid} != $pid && $c;
		};
	}) or diag $i->log;
	note sprintf 'serves again after %.2f s', time - $was;
	return wantarray ? ($c, 1000 * $was) : $c;
}

# What is wrong with the numbers and the progress of a run's events.
sub faults {
	my ($c, $run, $items) = @_;
	my $e = $c->call('run.events', { runId => $run })->{events};
	my %count;

	$count{ $_->{seq} }++ for @$e;
	my @faults = map { "seq $_ is there $count{$_} times" }
	    grep { $count{$_} != 1 } keys %count;
	my @progress = grep { $_->{type} eq 'progress' } @$e;
	my %item;
	$item{ $_->{data}{index} }++ for @progress;
	push @faults, map { "item $_ is told $item{$_} times" }
	    grep { $item{$_} != 1 } keys %item;
	push @faults, keys(%item) . " items are told, not $items"
	    if keys(%item) != $items;
	my @done = map { $_->{data}{done} } @progress;
	push @faults, "done is @done"
	    if "@done" ne join ' ', 1 .. $items;
	push @faults, grep { !/^progress$/ }
	    map { $_ > 1 ? "twice" : () } values %{ { map {
		my $type = $_;
		$type => scalar grep { $_->{type} eq $type } @$e
	    } qw(run_created run_started run_completed) } };
	return join '; ', @faults;
}

# How many of the runs go on, and how many items they have told.
sub going {
	my ($c, @runs) = @_;
	my @r = map { get($c, $_) } @runs;
	my $told = 0;

	$told += $_->{progress}{doneSteps} for @r;
	return (scalar(grep { $_->{status} eq 'running' } @r), $told);
}

# How many items there are in the artifact of one that has ended.
sub whole {
	my ($c, $r) = @_;
	my $row = artifact_of($r, 'extraction') // return 'none';
	my $doc = eval { JSON::PP->new->utf8->decode(
		artifact($c, $row->{artifact_id})) };

	return scalar @{ $doc // [] };
}

# Some kills while batches go on: before each, one more page of each is let
# through, and never the last ones, so that every kill hits all of them. How many
# did, and how many while a page was on its way.
sub round_of_batches {
	my ($i, $times) = @_;
	my $c = client($i);
	my $pages = $times + 4;
	my $gate = BrowserTask::Gate->new(
	    sub { $site->url('/corpus/' . (1 + $_[0] % 100)) });
	my @runs = map {
		my $name = "batch$_";
		batch($c, [ map { $gate->url($_, $name) } 1 .. $pages ],
		    { mode => 'async' }, concurrency => 2,
		    navigationTimeoutMs => 120_000)->{runId}
	} 1 .. BATCHES;
	my ($hits, $busy) = (0, 0);

	$gate->pass(1);
	done($c, $_, 1) for @runs;
	for my $n (1 .. $times) {
		$gate->pass($n + 1);
		sleep rand 0.3;
		my ($going, $told) = going($c, @runs);
		$c = replaced($i);
		$hits++ if $going == BATCHES
		    && (going($c, @runs))[0] == BATCHES;
		$busy++ if $told < BATCHES * ($n + 1);
	}
	$gate->pass($pages);
	my @ends = map { ended($c, $_, 120) } @runs;
	is_deeply([ map { "$_->{status} $_->{attempt}" } @ends ],
	    [ ('succeeded 1') x BATCHES ], 'all end well, as the same attempt')
	    or diag $i->log;
	is_deeply([ map { $_->{result}{summary}{succeeded} } @ends ],
	    [ ($pages) x BATCHES ], 'with all pages');
	is_deeply([ map { faults($c, $_, $pages) } @runs ], [ ('') x BATCHES ],
	    'every event has its number, every item is told once');
	my %count = $gate->asked;
	is(scalar keys %count, BATCHES * $pages, 'all pages are fetched');
	is_deeply([ grep { $count{$_} != 1 } keys %count ], [],
	    'no page is fetched twice');
	is_deeply([ map { whole($c, $_) } @ends ], [ ($pages) x BATCHES ],
	    'the artifacts are whole');
	return ($hits, $busy);
}

# The launcher offers a worker to 16 supervisords in a row, not for ever.
sub test_batches {
	my ($i) = @_;
	my $epoch = client($i)->call('profile.get')->{epoch};
	my ($hits, $busy, $rest) = (0, 0, $kills);

	while ($rest > 0) {
		my $times = min($rest, KILLS_EACH);
		my ($hit, $working) = round_of_batches($i, $times);
		$hits += $hit;
		$busy += $working;
		$rest -= $times;
	}
	is(client($i)->call('profile.get')->{epoch}, $epoch + $kills,
	    "$i->{mode}: supervisord is killed $kills times");
	is($hits, $kills, 'each time while ' . BATCHES . ' batches go on');
	figure('%s: %d kills of supervisord while %d batches went on, in %d of'
	    . ' them a page was on its way', $i->{mode}, $hits, BATCHES, $busy);
}

# The last message of a run, its commit, the end of its processes: whenever it
# happens, the run ends well and once. What had ended before is not counted.
sub test_end {
	my ($i) = @_;
	my $c = client($i);
	my ($hits, $tries) = (0, 0);
	my (%how, @faults, $killed_ms);

	while ($hits < $moments && $tries < 5 * $moments) {
		my $run = batch($c, [ map { $site->url("/corpus/$_") } 1, 2 ],
		    { mode => 'async' })->{runId};
		done($c, $run, 2);
		sleep rand 0.05;
		($c, $killed_ms) = replaced($i);
		my $r = ended($c, $run, 120);
		$tries++;
		$hits++ if $r->{endedAt} > $killed_ms;
		$how{"$r->{status} $r->{attempt}"}++;
		push @faults, grep { $_ } faults($c, $run, 2);
	}
	is($hits, $moments, "killed $moments times while a run was ending");
	is_deeply(\%how, { 'succeeded 1' => $tries }, 'it is not done again');
	is_deeply(\@faults, [], 'and nothing of it told twice');
	figure('%s: %d kills of supervisord at the end of a run, %d before it'
	    . ' had ended', $i->{mode}, $tries, $hits);
}

# It is asked for an end just before, at, and just after the kill.
sub test_ends {
	my ($i) = @_;
	my $c = client($i);
	my $hang = sub {
		my $run = batch($c, [ $site->url('/corpus/1'),
		    $site->url('/never-headers') ], { mode => 'async', @_ },
		    concurrency => 1)->{runId};
		done($c, $run, 1);
		return $run;
	};

	my @runs = map { $hang->() } 1 .. 3;
	my $late = $hang->(timeoutMs => 4000);
	$c->call('run.cancel', { runId => $runs[0] });
	$c->send('run.cancel', { runId => $runs[1] });
	$c = replaced($i);
	$c->call('run.cancel', { runId => $_ }) for @runs[1, 2];
	my @ends = map { ended($c, $_, 120) } @runs;
	is_deeply([ map { "$_->{status} $_->{attempt}" } @ends ],
	    [ ('canceled 1') x 3 ], 'canceled before, at and after it');
	my $r = ended($c, $late, 120);
	error_is($r->{error}, 'RUN_TIMEOUT', 'RUN_TIMEOUT',
	    'the time of a run goes on');
	my $took = $r->{endedAt} - $r->{startedAt};
	ok($took >= 4000 && $took < 5 * 4000, "it took $took ms");
	is_deeply([ map { faults($c, $_, 1) } @runs, $late ], [ ('') x 4 ],
	    'what was done is told once');
}

sub test_egress {
	my ($i) = @_;
	my $c = client($i);
	my $port = $site->{port};
	my $run = batch($c, [ $site->url('/corpus/1'), $site->url('/slow'),
	    "http://localhost:$port/corpus/2", $site->url('/corpus/3') ],
	    { mode => 'async', forbiddenDomains => [ "localhost:$port" ] },
	    concurrency => 1)->{runId};

	done($c, $run, 1);
	$c = replaced($i);
	my $r = ended($c, $run, 120);
	my %items = items($r);
	is($r->{attempt}, 1, 'a run with a list of hosts goes on');
	is($items{"http://localhost:$port/corpus/2"}{error}{cause},
	    'POLICY_DENIED', 'its list holds') or diag explain $r;
	ok($items{ $site->url('/corpus/3') }{success}, 'what is allowed is');
	my @told = grep { $_->{type} eq 'egress_refused' }
	    @{ $c->call('run.events', { runId => $run })->{events} };
	cmp_ok(scalar @told, '>=', 1, 'the refusal is told');
}

# Two in a row, the second while the first one is still adopting; and one with
# a worker that dies meanwhile: the rest goes on. That one is stopped before, so
# that it answers no other supervisord until it is dead.
sub test_again {
	my ($i) = @_;
	my $c = client($i);
	my @runs = map {
		my $n = $_ * 10;
		batch($c, [ $site->url('/slow'),
		    map { $site->url('/corpus/' . ($n + $_)) } 1 .. 10 ],
		    { mode => 'async' }, concurrency => 2)->{runId}
	} 0 .. 1;
	my $lost = batch($c, [ $site->url('/corpus/1'),
	    $site->url('/never-headers') ], { mode => 'async' },
	    concurrency => 1)->{runId};

	done($c, $_, 1) for @runs, $lost;
	my %lost = parts($i, $lost);
	for (1 .. 3) {
		my $pid = wait_until(60, sub { supervisord($i) });
		kill 'STOP', @{ $lost{worker} } if $_ == 3;
		kill 'KILL', $pid;
		kill 'KILL', @{ $lost{worker} } if $_ == 3;
		wait_until(60, sub { (supervisord($i) // $pid) != $pid });
		sleep rand 0.2;
	}
	$c = replaced($i);
	my @ends = map { ended($c, $_, 120) } @runs;
	is_deeply([ map { "$_->{status} $_->{attempt}" } @ends ],
	    [ ('succeeded 1') x 2 ], 'killed while it adopts');
	is_deeply([ map { faults($c, $_, 11) } @runs ], [ ('') x 2 ],
	    'all is told once');
	ok(event($c, $lost, 120, sub { $_[0]{type} eq 'run_started'
	    && $_[0]{data}{attempt} == 2 }),
	    'one whose worker died meanwhile is begun again');
	$c->call('run.cancel', { runId => $lost });
	is(ended($c, $lost, 120)->{status}, 'canceled', 'and can be canceled');
	is((grep { $_->{type} eq 'progress' }
	    @{ $c->call('run.events', { runId => $lost })->{events} }), 1,
	    'what it had done is not done again');
}

# Workers that are lost while no supervisord has them: what becomes of their runs
# does not hang on whether the next one had taken them up when it heard of that.
my %lose = (
	'worker, gone before it is offered' => sub {
		my ($i, $pid, $workers, $cells) = @_;
		kill 'STOP', $pid;
		kill 'KILL', @$workers;
		wait_until(60, sub { gone($i, @$cells) });
		kill 'KILL', $pid;
	},
	'worker, gone after it is taken up' => sub {
		my ($i, $pid, $workers) = @_;
		taken_up($i, $pid, @$workers);
		kill 'KILL', @$workers;
	},
	'browser, gone after it is taken up' => sub {
		my ($i, $pid, $workers, $cells) = @_;
		taken_up($i, $pid, @$workers);
		my %cell = map { $_ => 1 } @$cells;
		my %worker = map { $_ => 1 } @$workers;
		kill 'KILL', map { $_->{pid} } grep { $cell{ $_->{ppid} }
		    && !$worker{ $_->{pid} } } tree($i->{pid});
	},
);

# Stopped workers answer nothing.
sub taken_up {
	my ($i, $pid, @workers) = @_;
	my $count = sub { scalar(() = $i->log =~ /goes on with its worker/g) };
	my $was = $count->();

	kill 'STOP', @workers;
	kill 'KILL', $pid;
	wait_until(60, sub { $count->() == $was + @workers })
	    or diag $i->log;
}

sub workers {
	my ($i) = @_;
	my @workers = grep { $_->{cmd} =~ /^workerd\b/ && $_->{state} ne 'Z' }
	    tree($i->{pid});
	return ([ map { $_->{pid} } @workers ], [ map { $_->{ppid} } @workers ]);
}

sub test_lost {
	my $i = BrowserTask::Harness->new(scripted => 1,
		launcher => "$build/t/scenario/undamped",
		programs => { supervisord =>
			"$build/supervisord/supervisord-test" });
	my $crash = $i->dir . '/crash';
	my $put = sub {
		open(my $fh, '>', $crash) or die "$crash: $!\n";
		print $fh @_;
		close $fh;
		chmod 0666, $crash;
	};
	$put->('');
	$i->{env} = { BROWSERTASK_TEST_CRASH => $crash };
	$i->start;
	my $c = client($i);
	my $submit = sub {
		my ($template, $words) = @_;
		return $c->run($template, { do => [ split ' ', $words ] },
		    { mode => 'async' })->{runId};
	};
	my $next = sub {
		$c = wait_until(60, sub { eval { client($i) } })
		    or die $i->log;
	};
	for my $how (sort keys %lose) {
		my $safe = $submit->('scripted', 'item hold1 item');
		my $other = $submit->('fragile', 'step:s hold');
		done($c, $safe, 1);
		event($c, $other, 120, sub { $_[0]{type} eq 'step_started' });
		$lose{$how}->($i, supervisord($i), workers($i));
		$next->();
		my $r = ended($c, $safe, 120);
		is("$r->{status} $r->{attempt}", 'succeeded 2',
		    "$how: a restart-safe run begins again")
		    or diag $i->log;
		is($r->{result}{summary}{succeeded}, 2, 'behind its journal');
		$r = ended($c, $other, 120);
		error_is($r->{error}, 'EXECUTION_ERROR', 'SUPERVISOR_RESTART',
		    "$how: another one fails");
	}
	# Supervisord stops when it has stored what the worker said.
	$put->('run_end_stored:1:stop');
	my $run = $submit->('scripted', 'item');
	my $pid = supervisord($i);
	wait_until(60, sub { grep { $_->{pid} == $pid && $_->{state} eq 'T' }
	    tree($i->{pid}) }) or diag $i->log;
	my ($workers) = workers($i);
	taken_up($i, $pid, @$workers);
	kill 'KILL', @$workers;
	$next->();
	my $r = ended($c, $run, 120);
	is("$r->{status} $r->{attempt}", 'succeeded 1',
	    'a worker that had said that it is over may be lost')
	    or diag $i->log;
	is($i->stop, 0, 'stops');
	is(left(60, $site->{pid}), '', 'nothing is left');
}

# Workers that do what their inputs say: what cannot go on is settled as after
# any crash, and so is what had not begun.
sub test_settled {
	my $i = BrowserTask::Harness->new(
		launcher => "$build/t/scenario/undamped",
		settings => [ 'silentMs=3000', 'pingMs=200' ],
		programs => { workerd => "$build/t/scenario/scripted" })->start;
	my $c = client($i);
	my $submit = sub {
		my ($template, $words, %options) = @_;
		return $c->run($template, { do => [ split ' ', $words ] },
		    { mode => 'async', %options })->{runId};
	};
	my %run = (
		safe => $submit->('scripted', 'item forget hold1 item'),
		fragile => $submit->('fragile', 'step:s forget hold'),
		silent => $submit->('scripted', 'item mute1 item'),
		acted => $submit->('scripted', 'item act item forget hold'),
		whole => $submit->('fragile',
		    'step:look done:look warn art step:click hold'),
	);
	my %queued = map { $_ => $submit->('scripted', 'item') } 1 .. 3;

	done($c, $run{safe}, 1);
	done($c, $run{silent}, 1);
	done($c, $run{acted}, 2);
	event($c, $run{fragile}, 120, sub { $_[0]{type} eq 'step_started' });
	event($c, $run{whole}, 120,
	    sub { ($_[0]{data}{step} // '') eq 'click' });
	$c = replaced($i);
	my $r = ended($c, $run{safe}, 120);
	is("$r->{status} $r->{attempt}", 'succeeded 2',
	    'a restart-safe run whose worker lost something begins again');
	is($r->{result}{summary}{succeeded}, 2, 'behind its journal');
	$r = ended($c, $run{acted}, 120);
	is("$r->{status} $r->{attempt}", 'failed 1',
	    'a restart-safe run that changed something does not');
	error_is($r->{error}, 'EXECUTION_ERROR', 'OUTCOME_UNKNOWN',
	    'its error says that something may have happened');
	$r = ended($c, $run{fragile}, 120);
	error_is($r->{error}, 'EXECUTION_ERROR', 'SUPERVISOR_RESTART',
	    'another one fails');
	is($r->{error}{details}{failedStep}, 's', 'in its step');
	$r = ended($c, $run{silent}, 120);
	is("$r->{status} $r->{attempt}", 'succeeded 2',
	    'a worker that does not answer is lost, too');
	$c->call('run.cancel', { runId => $run{whole} });
	$r = ended($c, $run{whole}, 120);
	is("$r->{status} $r->{attempt}", 'canceled 1', 'one that was whole');
	is_deeply([ map { $_->{name} } @{ $r->{output}{steps} } ],
	    [qw(look click)], 'has its steps once');
	is(scalar grep({ $_ eq 'take care' } @{ $r->{warnings} }), 1,
	    'its warning');
	is(scalar @{ $r->{output}{artifacts}{markdown} // [] }, 1,
	    'its artifact');
	is(ended($c, $queued{$_}, 120)->{status}, 'succeeded', 'queued ones run')
	    for sort keys %queued;
	is($i->stop, 0, 'stops');
	is(left(60, $site->{pid}), '', 'nothing is left');
}

for my $mode (modes()) {
	my $i = BrowserTask::Harness->new(mode => $mode,
	    launcher => "$build/t/scenario/undamped")->start;

	test_batches($i);
	test_end($i);
	test_again($i);
	if ($mode eq (modes())[0]) {
		test_ends($i);
		test_egress($i);
	}
	is($i->stop, 0, "$mode: stops");
	is(left(60, $site->{pid}), '', "$mode: nothing is left");
}
test_settled();
test_lost();
done_testing();
