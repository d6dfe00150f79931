#!/usr/bin/perl
# Many runs of every kind, one after the other and beside each other: what they
# took is given back. Anonymous memory, descriptors and processes of the service
# stay as they were, each run is there with the end it should have, and no file
# of one that is over is left but its artifacts. Mostly workers that do what
# inputs say and no browser; some with both.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure sized);
use List::Util qw(max);
use Test::More;
use Time::HiRes qw(time);

use constant { AT_ONCE => 4, BATCH => 40, GROWN_KIB => 1024 };

# What workers are told, how the run ends.
my @kinds = (
	[ 'item art', 'succeeded' ],
	[ 'step:s item item done:s warn art', 'succeeded' ],
	[ 'item bad', 'partial_success' ],
	[ 'item', 'succeeded' ],
	[ 'item bad bad', 'failed' ],
	[ 'big art', 'succeeded' ],
	[ 'item hold', 'canceled' ],
	[ 'item exit', 'failed' ],
	[ 'item art item', 'succeeded' ],
	[ 'item crash', 'failed' ],
	[ 'step:s item stepfail:s fail:ELEMENT_NOT_FOUND', 'failed' ],
	[ 'long long long', 'succeeded' ],
	[ 'item garbage', 'failed' ],
	[ 'hold', 'canceled' ],
	[ 'item breach', 'failed' ],
	[ 'item early', 'failed' ],
);

sub status_of {
	my ($pid, $key) = @_;
	my $text = BrowserTask::Harness::slurp("/proc/$pid/status") // '';
	return $text =~ /^\Q$key\E:\s+(\d+)/m ? $1 : 0;
}

# The programs that live as long as the service, by name.
sub programs {
	my ($i) = @_;
	my %pid = (launcher => $i->{pid});

	for my $p (tree($i->{pid})) {
		$pid{$1} = $p->{pid} if $p->{cmd} =~ /^(supervisord|egressd)\b/;
	}
	return %pid;
}

# What the service has when it does nothing.
sub measure {
	my ($i, $c, $spares) = @_;
	my %pid = programs($i);
	my (%m, $idle);

	# A cell that ends is still there for a moment.
	wait_until(60, sub {
		$idle = grep { $_->{cmd} =~ /^(?:cell|workerd)/ }
		    tree($i->{pid});
		return $c->call('profile.get')->{activeRuns} == 0
		    && $idle == 2 * $spares;
	});
	$m{processes} = $idle;
	for my $name (keys %pid) {
		$m{"$name KiB"} = status_of($pid{$name}, 'RssAnon');
		$m{"$name descriptors"} = () = glob "/proc/$pid{$name}/fd/*";
	}
	return \%m;
}

sub compare {
	my ($first, $last, $n) = @_;

	for my $what (sort keys %$first) {
		my $grown = $last->{$what} - $first->{$what};
		my $text = sprintf '%s: %d after the first, %d after %d runs',
		    $what, $first->{$what}, $last->{$what}, $n;
		figure('%s', $text);
		$what =~ /KiB/ ? cmp_ok($grown, '<', GROWN_KIB, $text)
		    : cmp_ok($grown, '<=', 0, $text);
	}
}

# One batch of runs from number $from on: what did not end as it should.
sub batch_of {
	my ($c, $from, $count, $by_status) = @_;
	my (@runs, @wrong);

	for my $n ($from .. $from + $count - 1) {
		my ($words, $status) = @{ $kinds[ $n % @kinds ] };
		my $r = $c->run('scripted', { do => [ split ' ', $words ] },
			{ mode => 'async', idempotencyKey => "soak $n" });
		push @runs, [ $r->{runId}, $words, $status ];
		push @wrong, "refused: $r->{message}" if !$r->{runId};
		$c->call('run.cancel', { runId => $r->{runId} })
		    if $status eq 'canceled' && $n % 2;
	}
	for my $run (@runs) {
		my ($id, $words, $status) = @$run;
		if ($status eq 'canceled') {
			$c->call('run.cancel', { runId => $id });
		}
		my $r = ended($c, $id, 120);
		$by_status->{ $r->{status} }++;
		push @wrong, "$id ($words): $r->{status}"
		    if $r->{status} ne $status;
	}
	return @wrong;
}

# Regular files below the state directory that belong to runs, by directory.
sub files_of_runs {
	my ($i) = @_;
	my @todo = map { $i->state_dir . "/$_" } qw(incoming spool profiles);
	my @files;

	while (defined(my $at = shift @todo)) {
		opendir(my $dh, $at) or next;
		for my $path (map { "$at/$_" } grep { !/^\.\.?$/ } readdir $dh) {
			-d $path && !-l $path ? push @todo, $path
			    : push @files, $path;
		}
	}
	return @files;
}

sub test_scripted {
	my $runs = sized('runs without a browser', 500, 10_000);
	my $warm = max(100, $runs / 100);
	my $i = BrowserTask::Harness->new(scripted => 1, settings => [
		'maxConcurrentRuns=' . AT_ONCE, 'runTtlMs=86400000' ])->start;
	my $c = client($i);
	my (%by_status, @wrong, $first, @course);
	my $was = time;

	for (my $n = 0; $n < $runs; $n += BATCH) {
		my $count = $n + BATCH > $runs ? $runs - $n : BATCH;
		$first //= [ measure($i, $c, 0), $n ] if $n >= $warm;
		push @course, measure($i, $c, 0)->{'supervisord KiB'}
		    if $n >= $runs / 10 * (1 + @course);
		push @wrong, batch_of($c, $n, $count, \%by_status);
	}
	my $took = time - $was;
	figure('%d runs, %.1f per s', $runs, $runs / $took);
	is_deeply(\@wrong, [], "$runs runs end as they should");
	figure('supervisord KiB after each tenth of them: %s',
	    join ' ', @course);
	compare($first->[0], measure($i, $c, 0), $runs - $first->[1]);
	my $counted = $c->call('profile.get')->{runs};
	is_deeply({ map { $_ => $counted->{$_} } keys %by_status }, \%by_status,
		'the profile has counted the same');
	is($c->call('run.list', { limit => 1 })->{total}, $runs,
		'each of them is there');
	is($c->run('scripted', { do => ['item'] }, { mode => 'async',
		idempotencyKey => 'soak 3' })->{deduplicated},
		$BrowserTask::Client::true, 'and its key is known');
	is_deeply([ files_of_runs($i) ], [], 'none has left a file');
	is($i->stop, 0, 'stops');
}

sub test_real {
	my $runs = sized('runs with a browser', 12, 300);
	my $site = BrowserTask::Scenario::Site->new;
	my $i = BrowserTask::Harness->new(settings => [ 'maxConcurrentRuns=2',
		'warmCells=1' ])->start;
	my $c = client($i);
	my ($first, @wrong);

	for (my $n = 0; $n < $runs; $n += 2) {
		my @r = map { batch($c, [ $site->url("/corpus/$_?$n") ],
			{ mode => 'async' }) } 1 .. 2;
		for my $r (map { ended($c, $_->{runId}, 120) } @r) {
			push @wrong, explain $r if $r->{status} ne 'succeeded';
		}
		$first //= [ measure($i, $c, 1), $n ] if $n >= $runs / 4;
	}
	is_deeply(\@wrong, [], "$runs runs succeed");
	compare($first->[0], measure($i, $c, 1), $runs - $first->[1]);
	is($i->stop, 0, 'stops');
	is(left(60, $site->{pid}), '', 'nothing is left');
	$site->stop;
}

beside('without a browser' => \&test_scripted, 'with one' => \&test_real);
is(left(60), '', 'no process is left');
done_testing();
