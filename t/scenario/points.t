#!/usr/bin/perl
# supervisord is ended at each of its crash points (common/crashpoint.def) while
# runs are submitted, work, are canceled and end: whatever a client was told
# before is true after it (BrowserTask::Oracle), and every key has one run. One
# that tells before it commits is found out.
#
# SEED repeats a sequence, POINT takes one point only.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Oracle;
use BrowserTask::Points;
use BrowserTask::Size qw(figure seeded sized);
use List::Util qw(shuffle);
use Test::More;
use Time::HiRes qw(time);

use constant DAY => 86_400_000;

my $rounds = sized('rounds of each point', 3, 50);
seeded();

# Points that only some doing passes; any other is passed by all.
my %doing = (
	(map { $_ => 'restart' } qw(store_opened described recover_written
		serve_begun serve_listens serve_told adopt_offered
		adopt_decided adopt_told adopt_resumed)),
	requeue_written => 'begin_sent:1',
	end_found => 'end_ready:1',
	purge_removed => 'litter',
	(map { $_ => 'age' } qw(artifact_unnamed artifact_removed)),
	(map { $_ => 'run' } qw(artifact_begun artifact_synced artifact_sharded
		artifact_renamed artifact_published spool_appended
		spool_synced)),
	(map { $_ => 'act' } qw(effect_heard effect_stored)),
	(map { $_ => 'keep' } qw(state_synced state_renamed state_stored
		close_written)),
	(map { $_ => 'cancel' } qw(cancel_written cancel_acted)),
	drain_written => 'drain',
	restart_written => 'ask_anew',
	(map { $_ => 'anew' } qw(restart_heard restart_leaves restart_ends)),
);
# Passed so often that another time than the first is another moment.
my %often = map { $_ => 6 } qw(commit_begun commit_spooled commit_filled
	commit_written commit_told_one commit_told order_sent events_pushed
	answer_due answer_sent);

my %do = (
	run => sub { $_[0]->submit('scripted', 'step:s item big art item done:s',
		mode => 'async') },
	sync => sub { $_[0]->submit('fragile', 'step:s art result done:s',
		mode => 'sync') },
	act => sub { $_[0]->submit('scripted', 'item act item',
		mode => 'async') },
	cancel => sub { $_[0]->submit('scripted', 'item hold', mode => 'async',
		cancel => 1) },
	keep => sub { $_[0]->submit('keeper', 'state result', mode => 'sync',
		close => 1) },
	drain => sub { $_[0]->drain; $_[0]->resume },
	ask_anew => sub { $_[0]->restart },
	anew => sub { kill 'USR2', $_[0]{i}{pid} },
);
my @any = qw(run sync act cancel keep);

sub instance {
	my ($mode, $program) = @_;
	# At full size it takes longer than runs are kept.
	return crashing(mode => $mode, supervisord => $program,
		settings => [ 'maxConcurrentRuns=4', 'runTtlMs=86400000' ]);
}

# Files as a crash leaves them that had not come to their names.
sub litter {
	my ($i) = @_;
	my $uid = (stat $i->state_dir . '/incoming')[4];
	for my $n (0 .. 2) {
		my $path = $i->state_dir . "/incoming/01ARZ3NDEKTSV4RRFFQ69G5FA$n";
		open(my $fh, '>', $path) or die "$path: $!\n";
		print $fh 'half';
		chown $uid, -1, $path;
	}
}

# Works until it ends at that point; whether it did.
sub crash {
	my ($i, $o, $point) = @_;
	my $doing = $doing{$point} // '';
	my $end = time + 60;

	litter($i) if $doing eq 'litter';
	# Some are passed only after a crash at another one.
	put($i, 'crash', ($doing =~ /:/ ? "$doing " : '') . "$point:"
	    . (1 + int rand($often{$point} // 1)));
	if ($doing =~ /^(?:restart|litter)$/) {
		# The next one starts after a crash, or a launcher that was
		# started anew, too.
		if (rand() < 0.5) {
			kill 'KILL', supervisord($i);
		} else {
			kill 'USR2', $i->{pid};
		}
		1 while $o->pump(1);
	} else {
		while (time < $end) {
			$do{ $do{$doing} ? $doing : $any[rand @any] }->($o)
			    if $o->live < 4;
			last if !$o->pump(0.02);
		}
	}
	# Else it ended by itself.
	return met($i);
}

sub files {
	my ($i, $where) = @_;
	my $state = $i->state_dir;
	return map { -f $_ ? substr($_, 1 + length $state) : () }
	    glob "$state/$where";
}

# What no longer is to be kept goes, whatever happens meanwhile.
sub age {
	my ($i, $mode, @points) = @_;
	my $now = time * 1000;

	for my $point (@points) {
		my $c = BrowserTask::Client->new($i->client_sock);
		my $r = $c->run('scripted', { do => ['big'] },
			{ mode => 'sync' });
		put($i, 'crash', "$point:1");
		put($i, 'clock', sprintf '%.0f', $now += 40 * DAY);
		for (1 .. 20) {
			last if !eval { $c->run('fragile', { do => ['result'] },
				{ mode => 'sync' }) };
		}
		ok(met($i),
			"$mode: $point was met");
		$c = wait_until(60, sub { eval {
			BrowserTask::Client->new($i->client_sock) } });
		my @left = grep { !$c->call('artifact.get',
			{ artifactId => $_ })->{errorCode} }
		    @{ $r->{artifactIds} };
		is("@left", '', "$mode: nothing that expired is handed out");
	}
	# Runs are kept from their end, which may be at another point. Of files
	# that are there without a row a start gets rid.
	ok(wait_until(60, sub {
		my $c = eval { BrowserTask::Client->new($i->client_sock) }
		    // return 0;
		$c->run('fragile', { do => ['result'] }, { mode => 'sync' });
		my $n = $c->call('run.list', { limit => 1 })->{total};
		my ($oldest) = @{ $c->call('run.list', { limit => 1,
			offset => $n - 1 })->{runs} };
		return $oldest && ($oldest->{endedAt} // 0) >= int $now;
	}), "$mode: what is left goes later");
	kill 'KILL', supervisord($i);
	wait_until(60, sub { eval {
		BrowserTask::Client->new($i->client_sock) } });
	is(join(' ', files($i, 'artifacts/*/*')), '',
		"$mode: no file of an artifact is left");
}

# A run that clicks around, so to say, whatever happens to supervisord; another
# one before its time is over, and before the launcher takes it for the cause of
# the crashes, as it does of a cell that 16 supervisords in a row did not outlive.
sub steady {
	my ($o, $s) = @_;

	return $s if $s && time - $s->{since} < 20 && $s->{rounds}++ < 7;
	$o->release($s->{key}) if $s;
	$s = { since => time, rounds => 1, key => $o->submit('fragile',
		'step:s hold', mode => 'async', steady => 1) };
	$o->pump(0.1) while !$o->works($s->{key}) && time < $s->{since} + 60;
	return $s;
}

# Many points on one instance, in any order: what a crash left is there at the
# next one.
sub crashes {
	my ($mode, @plan) = @_;
	my $i = instance($mode, 'supervisord/supervisord-test');
	my $o = BrowserTask::Oracle->new($i);
	my @aging = grep { ($doing{$_} // '') eq 'age' } @plan;
	my (@missed, @faults, $steady);

	@plan = grep { ($doing{$_} // '') ne 'age' } @plan;
	for my $point (@plan) {
		$steady = steady($o, $steady);
		push @missed, $point if !crash($i, $o, $point);
		if (!$o->connect) {
			fail("$mode: it serves again after $point");
			last;
		}
		$o->check;
		push @faults, map { "after $point: $_" } $o->faults;
	}
	put($i, 'crash', '');
	$o->resume;
	$o->release($steady->{key}) if $steady;
	$o->finish(60);
	push @faults, $o->faults;
	is_deeply(\@missed, [], "$mode: each point was met");
	is_deeply(\@faults, [], "$mode: nothing told was lost or done twice")
	    or diag join("\n", @faults), "\n", $i->log;
	my %told = $o->told;
	figure('%s: %d crashes; it had told of %s', $mode, scalar @plan,
	    join ', ', map { "$told{$_} $_" } sort keys %told);
	is(join(' ', files($i, '{incoming,spool}/*')), '',
		"$mode: no file is left over");
	age($i, $mode, @aging) if @aging;
	is(($i->ctl('audit', 'verify'))[0], 0, "$mode: the audit log is whole");
	is($i->stop, 0, "$mode: it stops");
	is(left(60), '', "$mode: no process is left");
}

# What the tests above look for is found when it is there.
sub found_out {
	my $i = instance((modes())[0], 't/scenario/early');
	my $o = BrowserTask::Oracle->new($i);
	my @faults;

	for my $n (1 .. 10) {
		$do{run}->($o);
		put($i, 'crash', 'commit_told:1');
		1 while $o->pump(1);
		$o->connect or last;
		$o->check;
		push @faults, $o->faults;
		last if @faults;
	}
	ok(@faults > 0, 'a supervisord that tells too early is found out');
	note "it is, by: $_" for @faults;
	kill 'KILL', $i->{pid};
	$i->wait(10);
}

# Every part of the test has the same sequence, and takes its share of it.
my @points = grep { $_ eq ($ENV{POINT} // $_) } crash_points();
my @plan = shuffle((@points) x $rounds);
note scalar @points, ' points';
my @modes = modes();
my @parts;
for my $n (0 .. $#modes) {
	my @share = @plan[ grep { $_ % @modes == $n } 0 .. $#plan ];
	push @parts, $modes[$n], sub { crashes($modes[$n], @share) };
}
beside(@parts, oracle => \&found_out);
done_testing();
