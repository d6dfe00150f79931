#!/usr/bin/perl
# A wall clock that jumps a day, while runs are active and between two starts,
# and a machine that slept: nothing ends that should not, and nothing is lost.
# Deadlines are those of the monotonic clock. supervisord is t/scenario/clocked.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure sized);
use Test::More;
use Time::HiRes qw(time);

use constant { MINUTE => 60_000, DAY => 86_400_000, LIMIT_MS => 2000 };

my $build = $ENV{builddir} // die "builddir is not set\n";
my $jumps = sized('jumps of the wall clock, either way', 6, 200);

my $i = BrowserTask::Harness->new(
	programs => { workerd => "$build/t/scenario/scripted",
		supervisord => "$build/t/scenario/clocked" },
	settings => [ 'maxConcurrentRuns=3' ]);
$i->{env} = { BROWSERTASK_TEST_CLOCK => $i->dir . '/clock',
	BROWSERTASK_TEST_JUMP => $i->dir . '/jump' };

# In one write: supervisord reads meanwhile.
sub put {
	my ($name, $text) = @_;
	my $path = $i->dir . "/$name";

	open(my $fh, -e $path ? '+<' : '>', $path) or die "$path: $!\n";
	syswrite $fh, $text;
	close $fh or die "$path: $!\n";
}

# By how much the wall clock is wrong, and how long the machine slept.
my $slept = 0;
sub jump {
	my ($wall, $sleep) = @_;

	$slept += $sleep // 0;
	put('jump', sprintf '%+020d %+020d', $wall + $slept, $slept);
}

sub script {
	my ($c, $words, %options) = @_;
	my $template = delete $options{template} // 'scripted';
	my $r = $c->run($template, { do => [ split ' ', $words ] },
		{ mode => 'async', %options });

	return $r->{runId} // $r->{errorCode};
}

sub finished {
	my ($c, $words, %options) = @_;
	return ended($c, script($c, $words, %options), 120);
}

sub status { return get(@_)->{status} // get(@_)->{errorCode} }

sub sessions {
	my ($c) = @_;
	return map { $_->{sessionId} } @{ $c->call('session.list')->{sessions} };
}

sub artifact_there {
	my ($c, $r) = @_;
	return $c->call('artifact.get', { artifactId => $r->{artifactIds}[0] })
	    ->{errorCode} // 'there';
}

sub starts {
	my ($c, $run) = @_;
	return event($c, $run, 120, sub { $_[0]{type} eq 'run_started' });
}

# Times of the audit log, oldest first.
sub audit_times {
	my ($c) = @_;
	my $a = BrowserTask::Client->new($i->admin_sock)
	    ->call('audit.list', { limit => 1000 });
	return reverse map { $_->{createdAt} } @{ $a->{rows} };
}

# That all is as it was: nothing has fired, nothing is lost.
sub unchanged {
	my ($c, $name, $old) = @_;

	is(status($c, $old->{finished}{runId}), 'succeeded',
		"$name: a run that had ended is there");
	is(artifact_there($c, $old->{finished}), 'there', "$name: its artifact");
	is(script($c, 'item', idempotencyKey => 'finished'),
		$old->{finished}{runId}, "$name: its key holds");
	is(script($c, 'hold', idempotencyKey => 'held'), $old->{held},
		"$name: so does the key of one that is active");
	is(status($c, $old->{held}), 'running', "$name: which is active");
	is_deeply([ sessions($c) ], [ $old->{session} ], "$name: the session");
	ok($c->call('session.list')->{sessions}[0]{living},
		"$name: its browser, which is idle");
}

# That it also goes on in true time.
sub all_well {
	my ($c, $name, $old) = @_;
	my $was = time;

	unchanged($c, $name, $old);
	my $late = script($c, 'item hold', timeoutMs => LIMIT_MS);
	my $r = ended($c, $late, 120);
	is($r->{error}{errorCode}, 'RUN_TIMEOUT', "$name: a deadline");
	my $took = 1000 * (time - $was) + 1000;
	for ([ 'its run took', $r->{metrics}{elapsedMs} ],
		[ 'by its stamps', $r->{endedAt} - $r->{createdAt} ]) {
		ok($_->[1] >= LIMIT_MS * 0.9 && $_->[1] <= $took,
			"$name: $_->[0] $_->[1] ms");
	}
	cmp_ok($r->{metrics}{elapsedMs}, '>=', LIMIT_MS, "$name: all its time");
	cmp_ok($r->{createdAt}, '>=', $old->{finished}{endedAt},
		"$name: it is later than what was before");
	return $r;
}

sub on_time {
	my ($r, $name) = @_;

	is($r->{error}{errorCode}, 'RUN_TIMEOUT',
		"$name: a deadline from before it");
	cmp_ok($r->{metrics}{elapsedMs}, '>=', LIMIT_MS,
		"$name: not before its time");
}

sub audit_well {
	my ($c, $name) = @_;
	my @times = audit_times($c);
	my @back = grep { $times[$_] < $times[ $_ - 1 ] } 1 .. $#times;
	my ($status, $out) = $i->ctl('audit', 'verify');

	is("@back", '', "$name: the audit log's " . @times . ' rows are in order');
	is($status, 0, "$name: and sound") or diag $out;
	return $times[-1] - $times[0];
}

put('clock', '0' x 20);
jump(0);
$i->start;
my $c = client($i);
my $kept = finished($c, 'item', template => 'keeper');
my %old = (
	finished => finished($c, 'item', idempotencyKey => 'finished'),
	session => $kept->{sessionId},
	held => script($c, 'item hold1 item', idempotencyKey => 'held',
		timeoutMs => 600_000),
);
my $first_start = starts($c, $old{held})->{time};

subtest 'while runs are active' => sub {
	my $near = sub {
		my $run = script($c, 'item hold', timeoutMs => LIMIT_MS);
		starts($c, $run);
		return $run;
	};
	my $waits = $near->();
	my $limits = 0;

	for my $n (1 .. $jumps) {
		my $name = "$n: a day " . ($n % 2 ? 'ahead' : 'behind');
		jump($n % 2 ? DAY : -+DAY());
		$n > 2 ? unchanged($c, $name, \%old)
		    : all_well($c, $name, \%old);
		# All the time there is one whose limit comes soon.
		next if $n > 2 && status($c, $waits) eq 'running';
		on_time(ended($c, $waits, 120), $name);
		$waits = $near->();
		$limits++;
	}
	on_time(ended($c, $waits, 120), 'after all');
	figure('%d jumps, over %d limits of runs', $jumps, $limits + 1);
	cmp_ok(audit_well($c, 'jumps'), '<=', 1000 * (time - $^T) + 1000,
		'jumps: and no longer than they took');
	unlike($i->log, qr/sweep: [1-9]/, 'nothing was swept');
};

subtest 'while the machine sleeps' => sub {
	my $gone = $old{finished}{runId};

	jump(0, 40 * MINUTE);
	is(status($c, $gone), 'RUN_NOT_FOUND', 'the life of a run is over');
	is(artifact_there($c, $old{finished}), 'there', 'not its artifact\'s');
	is(status($c, $old{held}), 'running', 'no deadline is');
	is_deeply([ sessions($c) ], [ $old{session} ], 'nor a session');
	ok($c->call('session.list')->{sessions}[0]{living},
		'nor the time that its browser may be idle');
	$old{finished} = finished($c, 'item', idempotencyKey => 'finished');
	isnt($old{finished}{runId}, $gone, 'its key is free again');
	cmp_ok($old{finished}{createdAt} - $first_start, '>=', 40 * MINUTE,
		'stamps go on with the sleep');
	ok(wait_until(60, sub { $c->call('run.list')->{total} <= 3 }),
		'what is over is swept') or diag explain $c->call('run.list');
};

# All dies, and starts with another wall clock.
sub start_at {
	my ($wall) = @_;

	$i->stop('KILL');
	left(60);
	jump($wall);
	$i->start;
	return $c = client($i);
}

subtest 'a start a day behind' => sub {
	my ($newest) = @{ $c->call('run.list', { limit => 1 })->{runs} };

	start_at(-+DAY());
	my $r = ended($c, $old{held}, 120);
	is($r->{status}, 'succeeded', 'a run that was active goes on');
	is($r->{attempt}, 2, 'in its second attempt');
	$old{held} = script($c, 'item hold', idempotencyKey => 'held',
		timeoutMs => 60_000);
	is($old{held}, $r->{runId}, 'its key holds');
	$old{held} = script($c, 'item hold1 item', idempotencyKey => 'held2',
		timeoutMs => 60_000);
	starts($c, $old{held});
	is(status($c, $old{finished}{runId}), 'succeeded',
		'a run that had ended is there');
	is(artifact_there($c, $old{finished}), 'there', 'its artifact, too');
	is_deeply([ sessions($c) ], [ $old{session} ], 'and the session');
	my $late = ended($c, script($c, 'item hold', timeoutMs => LIMIT_MS), 120);
	is($late->{error}{errorCode}, 'RUN_TIMEOUT', 'a deadline');
	cmp_ok($late->{createdAt}, '>', $newest->{createdAt},
		'a new run is newer than those before');
	cmp_ok($late->{metrics}{elapsedMs}, '>=', LIMIT_MS * 0.9,
		'time does not stand still');
	my @ids = map { $_->{runId} }
	    @{ $c->call('run.list', { limit => 1000 })->{runs} };
	is_deeply(\@ids, [ reverse sort @ids ], 'the list is newest first');
	jump(-+DAY(), 33 * MINUTE);
	is(status($c, $late->{runId}), 'RUN_NOT_FOUND', 'and lives end');
	is(status($c, $old{held}), 'running', 'no deadline is over');
	audit_well($c, 'a start a day behind');
};

subtest 'a start a day ahead' => sub {
	my $r = finished($c, 'item', idempotencyKey => 'last');

	start_at(DAY);
	is(status($c, $r->{runId}), 'RUN_NOT_FOUND', 'what lives minutes is over');
	is(artifact_there($c, $r), 'ARTIFACT_EXPIRED', 'what lives a day, too');
	is_deeply([ sessions($c) ], [ $old{session} ], 'what lives longer is there');
	is(script($c, 'item', idempotencyKey => 'held2'), $old{held},
		'the key of an active run holds');
	$r = ended($c, $old{held}, 120);
	is($r->{status}, 'succeeded', 'it goes on, its limit is not over')
	    or diag explain $r;
	is(finished($c, 'item')->{status}, 'succeeded', 'new ones do');
	audit_well($c, 'a start a day ahead');
};

subtest 'the life of a session' => sub {
	my ($s) = @{ $c->call('session.list')->{sessions} };
	my $end = $s->{expiresAt};
	my $use = sub {
		return $c->call('run.submit', { templateId => 'fragile',
			inputs => { do => [] }, options => { mode => 'async' },
			sessionId => $s->{sessionId} })->{errorCode} // 'taken';
	};

	put('clock', sprintf '%020d', $end - 1);
	is_deeply([ sessions($c) ], [ $old{session} ], 'T-1: there');
	for my $at (0, 1) {
		put('clock', sprintf '%020d', $end + $at);
		is_deeply([ sessions($c) ], [], "T+$at: not listed");
		is($use->(), 'SESSION_NOT_FOUND', "T+$at: not to be used");
	}
};

is($i->stop, 0, 'stops');
is(left(60), '', 'nothing is left');
done_testing();
