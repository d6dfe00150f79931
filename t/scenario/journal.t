#!/usr/bin/perl
# What a run had finished is kept, whatever ends it behind each of its items:
# an item that fails, a failure of the run, its worker's or browser's end, a
# cancel, its time limit, crashes of the service; and a batch of 200 pages that
# crashes interrupt fetches no finished page again.
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
use Time::HiRes qw(time);

use constant { LIMIT_MS => 5000, LONGEST_MS => 80000, ATTEMPTS => 3,
	PAGES => 200, MORE => 9 };

my $build = $ENV{builddir} // die "builddir is not set\n";
my $json = JSON::PP->new->utf8;
seeded();

my $items = sized('items of a run, which ends behind each', 4, 30);
my $batches = sized('batches of ' . PAGES . ' pages', 1, 10);
# Behind how many pages each of them is killed, twice: so many more may be done
# by then, and the second time is behind those.
my @kills = map {
	my $one = 1 + int rand(PAGES - 3 * MORE);
	[ $one, $one + MORE + 1 + int rand(PAGES - 2 * MORE - 1 - $one) ]
} 1 .. $batches;
my $tried = 0;

sub words { return ($_[0]) x $_[1] }

# A run of so many items in all.
sub script {
	my ($c, $options, @words) = @_;
	my $r = $c->run('scripted', { do => \@words },
		{ mode => 'async', %$options });

	return $r->{runId} // die 'refused: ' . $json->encode($r) . "\n";
}

# The items of the first so many attempts.
sub progress {
	my ($c, $run, $attempts) = @_;
	my $e = $c->call('run.events', { runId => $run })->{events} // [];
	my ($started, @done) = (0);

	for (@$e) {
		last if $_->{type} eq 'run_started'
		    && ++$started > ($attempts // ATTEMPTS);
		push @done, $_->{data}{index}
		    if $_->{type} eq 'progress' && defined $_->{data}{index};
	}
	return @done;
}

# Of a run that has ended: the items that $want counts are there, each whole and
# once, in its result, its artifact and its events.
sub is_kept {
	my ($c, $name, $run, %want) = @_;
	my $r = ended($c, $run, 90) // return fail("$name: has not ended");
	my $out = $r->{output}{result};
	my $kept = [ 0 .. $want{kept} - 1 ];
	my $bad = $want{bad} // -1;
	my $doc = artifact_of($r, 'extraction');
	my $bytes = $doc ? artifact($c, $doc->{artifact_id}) : '[]';

	$tried++;
	my $got = {
		status => $r->{status},
		cause => $r->{error}{details}{cause} // '',
		items => [ map { $_->{i} } @{ $out->{items} // [] } ],
		summary => $want{kept} ? $out->{summary} : undef,
		artifact => [ map { $_->{i} } @{ $json->decode($bytes) } ],
		events => [ sort { $a <=> $b } progress($c, $run) ],
		done => $r->{progress}{doneSteps} + 0,
	};
	is_deeply($got, {
		status => $want{status},
		cause => $want{cause} // '',
		items => $kept,
		summary => $want{kept} ? { total => $want{total} // $items,
			succeeded => $want{kept} - ($bad >= 0),
			failed => 0 + ($bad >= 0) } : undef,
		artifact => $kept,
		events => $kept,
		done => $want{kept},
	}, "$name: $want{kept} items are kept") or diag explain $got;
	return $r;
}

# Behind each item; all runs of one way at the same time.
sub each_k {
	my ($make, $check) = @_;
	my @runs = map { $make->($_) } 0 .. $items;

	$check->($_, $runs[$_]) for 0 .. $items;
}

sub test_ends {
	my ($c) = @_;
	my $rest = sub { words('item', $items - $_[0]) };
	# The slowest first: it waits while the others are tried.
	my $timed = sub {
		my ($k, $limit) = @_;
		return script($c, { timeoutMs => $limit }, words('item', $k),
			'half', 'hold', $rest->($k));
	};
	my @timed = map { $timed->($_, LIMIT_MS) } 0 .. $items;
	my $limit = LIMIT_MS;
	for my $k (0 .. $items) {
		# On a busy machine its time may be over before it got there.
		until (done($c, $timed[$k], $k) || $limit >= LONGEST_MS) {
			$limit *= 2;
			$timed[$k] = $timed->($k, $limit);
		}
	}
	my %ends = (
		'fail:ELEMENT_NOT_FOUND' => 'ELEMENT_NOT_FOUND',
		exit => 'WORKER_LOST',
		crash => 'PAGE_CRASHED',
	);

	each_k(sub { script($c, {}, words('item', $_[0]), 'half', 'hold',
		    $rest->($_[0])) },
		sub {
			my ($k, $run) = @_;
			event($c, $run, 120, sub { $_[0]{type} eq 'run_started' });
			done($c, $run, $k);
			$c->call('run.cancel', { runId => $run });
			is_kept($c, "cancel behind $k", $run, kept => $k,
				status => 'canceled', cause => 'RUN_CANCELED');
		});
	for my $word (sort keys %ends) {
		each_k(sub { script($c, {}, words('item', $_[0]), 'half',
			    $word, $rest->($_[0])) },
			sub {
				is_kept($c, "$word behind $_[0]", $_[1],
					kept => $_[0], status => 'failed',
					cause => $ends{$word});
			});
	}
	each_k(sub { script($c, {}, words('item', $_[0]), 'bad',
		    $rest->($_[0])) },
		sub {
			my ($k, $run) = @_;
			is_kept($c, "an item fails behind $k", $run,
				kept => $items + 1, bad => $k,
				total => $items + 1,
				status => 'partial_success');
		});
	is_kept($c, "time limit behind $_", $timed[$_], kept => $_,
		status => 'failed', cause => 'RUN_TIMEOUT') for 0 .. $items;
}

# All runs are where they wait; then the whole service is killed.
sub crash {
	my ($i, $c, @wait) = @_;

	for my $w (@wait) {
		event($c, $w->[0], 120,
			sub { $_[0]{type} eq 'run_started'
			    && ($_[0]{data}{attempt} // $w->[2]) >= $w->[2] });
		done($c, $w->[0], $w->[1]);
	}
	kill 'KILL', $i->{pid};
	$i->wait(30);
	left(60);
	$i->start;
	return client($i);
}

# Behind these items; all at the same time.
sub test_crashes {
	my ($c, $i, @k) = @_;
	my $make = sub {
		my ($k, @words) = @_;
		return script($c, {}, words('item', $k), @words,
		    words('item', $items - $k));
	};
	my %again = map { $_ => $make->($_, 'half1', 'hold1') } @k;
	my %held = map { $_ => $make->($_, 'half', 'hold') } @k;

	$c = crash($i, $c, map { [ $again{$_}, $_, 1 ], [ $held{$_}, $_, 1 ] }
	    @k);
	for my $k (@k) {
		my $r = is_kept($c, "a crash behind $k", $again{$k},
			kept => $items, status => 'succeeded');
		is_deeply([ map { $_->{attempt} } @{ $r->{result}{items} } ],
			[ words(1, $k), words(2, $items - $k) ],
			"... it went on behind its journal");
	}
	for my $attempt (2 .. ATTEMPTS) {
		wait_until(60, sub {
			!grep { (get($c, $_)->{attempt} // 0) < $attempt }
			    values %held
		}) or fail("attempt $attempt");
		$c = crash($i, $c, map { [ $held{$_}, $_, $attempt ] } @k);
	}
	is_kept($c, ATTEMPTS . " crashes behind $_", $held{$_}, kept => $_,
		status => 'failed', cause => 'SUPERVISOR_RESTART') for @k;
}

sub pid_of {
	my ($i, $kind) = @_;
	my @found;

	return $i->{pid} if $kind eq 'launcher';
	wait_until(60, sub {
		@found = grep { $_->{cmd} =~ m{(^|/)\Q$kind\E\b}
			&& $_->{state} ne 'Z' } tree($i->{pid});
	});
	return $found[0]{pid};
}

# A call that the next process of the service answers.
sub steady {
	my ($i, $sub) = @_;
	return wait_until(60, sub { eval { $sub->(client($i)) } });
}

# Waits until $n pages are done, kills and looks what was stored then, which is
# a bit more than was told: the items of that attempt and those before it.
sub kill_behind {
	my ($i, $run, $kind, $n, $attempt, $between, @keep) = @_;
	my (@done, @stored);

	steady($i, sub { done($_[0], $run, $n) });
	steady($i, sub { @done = progress($_[0], $run); 1 });
	is(steady($i, sub { get($_[0], $run)->{status} }), 'running',
		"$kind killed while the batch goes on");
	kill 'KILL', pid_of($i, $kind);
	if ($kind eq 'launcher') {
		$i->wait(30);
		left(60, @keep);
		$between->();
		$i->start;
	}
	steady($i, sub { @stored = progress($_[0], $run, $attempt); 1 });
	my %stored = map { $_ => 1 } @stored;
	is(scalar(grep { !$stored{$_} } @done), 0,
		"... all that was told is stored");
	cmp_ok(scalar @done, '>=', $n, "... of at least $n pages");
	return @stored;
}

# Killed twice, so that no attempt is the last one; pages are held back until
# then, so that it is at work. A page that was in work at the first kill is
# fetched once more, and then finished.
sub test_batch {
	my ($i, $site, $name, @kills) = @_;
	my $gate = BrowserTask::Gate->new(
		sub { $site->url("/corpus/$_[0]") });
	my @urls = map { $gate->url($_, 'page') } 1 .. PAGES;
	my $fetches = sub {
		my %count = $gate->asked;
		return map { $count{"/$_/page"} // 0 } 1 .. PAGES;
	};
	my (%want, @first);

	my $run = batch(client($i), \@urls,
		{ mode => 'async', timeoutMs => 600_000 }, concurrency => 5,
		navigationTimeoutMs => 120_000)->{runId};
	$gate->pass($kills[0] + MORE);
	my @stored = kill_behind($i, $run, 'launcher', $kills[0], 1,
		sub { @first = $fetches->() }, $site->{pid}, $gate->{pid});
	$want{$_} = 1 for @stored;
	$gate->pass($kills[1] + MORE);
	@stored = kill_behind($i, $run, 'supervisord', $kills[1], 2);
	$want{$_} //= $first[$_] + 1 for @stored;
	$gate->pass(PAGES);
	my $r = steady($i, sub { ended($_[0], $run, 600) });
	my @count = $fetches->();
	my @twice = grep { $count[$_] != $want{$_} } keys %want;
	my $all = 0;

	$all += $_ for @count;
	note sprintf '%s: %d pages fetched', $name, $all;
	is("$r->{status} $r->{attempt}", 'succeeded 2',
		"$name: it was begun again, once") or diag $i->log;
	is_deeply($r->{result}{summary}, { total => PAGES, succeeded => PAGES,
		failed => 0 }, "$name: every page is read");
	is(scalar(keys %{ { items($r) } }), PAGES, "$name: and there once");
	is("@twice", '', "$name: none of the " . keys(%want)
	    . ' finished pages is fetched again');
}

my $i = BrowserTask::Harness->new(
	programs => { workerd => "$build/t/scenario/scripted" },
	settings => [ 'maxConcurrentRuns=24' ])->start;
my $was = time;
test_ends(client($i));
# No more of them than can be active at once.
test_crashes(client($i), $i, $_ .. min($_ + 4, $items))
    for map { 5 * $_ } 0 .. $items / 5;
figure('%d runs that ended behind each of their items, %.1f s', $tried,
    time - $was);
is($i->stop, 0, 'stops');

my $site = BrowserTask::Scenario::Site->new;
$i = BrowserTask::Harness->new->start;
test_batch($i, $site, "batch $_", @{ $kills[ $_ - 1 ] }) for 1 .. $batches;
is($i->stop, 0, 'stops');
is(left(60, $site->{pid}), '', 'nothing is left');
$site->stop;
done_testing();
