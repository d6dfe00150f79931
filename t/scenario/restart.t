#!/usr/bin/perl
# The service is started anew while runs go on: by SIGUSR2 and by browsertaskctl
# restart, with the same programs, with others in their place on the disk, and
# with some that cannot take over. supervisord is played by t/launch/fakesup
# where the launcher alone is the point.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Talk;
use File::Copy qw(copy);
use POSIX ();
use Test::More;
use Time::HiRes qw(time);

my $build = $ENV{builddir} // die "builddir is not set\n";
my $RUN = '01ARZ3NDEKTSV4RRFFQ69G5FA';

$SIG{PIPE} = 'IGNORE';

# Puts a file in the place of another, as package managers do.
sub put {
	my ($from, $to) = @_;

	copy($from, "$to.new") or die "$to: $!\n";
	chmod 0755, "$to.new";
	rename "$to.new", $to or die "$to: $!\n";
	return (stat $to)[1];
}

sub put_text {
	my ($to, $text) = @_;

	open(my $fh, '>', "$to.new") or die "$to: $!\n";
	print $fh $text;
	close $fh;
	chmod 0755, "$to.new";
	rename "$to.new", $to or die "$to: $!\n";
}

# One whose programs are files of its own.
sub instance {
	my (%opt) = @_;
	my $i = BrowserTask::Harness->new(%opt);
	my $launcher = $i->dir . '/browsertaskd';

	put("$build/launcher/browsertaskd", $launcher);
	for my $name (qw(supervisord egressd workerd cell)) {
		my $to = $i->dir . "/lib/$name";
		my $from = readlink $to;
		unlink $to;
		put($from, $to);
	}
	$i->{launcher} = $launcher;
	return $i->start;
}

sub faked {
	my ($mode, %opt) = @_;
	return instance(
		mode => $mode,
		env => { BROWSERTASK_TEST_ASKS => 1 },
		programs => {
			supervisord => "$build/t/launch/fakesup",
			workerd => "$build/t/launch/fakework",
		},
		%opt);
}

sub find {
	my ($i, $re) = @_;
	my ($p) = grep { $_->{state} ne 'Z' && $_->{cmd} =~ $re }
	    tree($i->{pid});
	return $p ? $p->{pid} : undef;
}

# Not what reads its store, whose title says so.
sub supervisord { return find($_[0], qr/^supervisord\b(?!: (?:backup|check))/) }

# Of the file that a process runs.
sub inode { return (stat "/proc/$_[0]/exe")[1] }

sub arguments {
	my ($pid) = @_;

	open(my $fh, '<', "/proc/$pid/cmdline") or return '';
	local $/;
	return join ' ', split /\0/, <$fh>;
}

sub everything {
	my ($i) = @_;
	return map { $_->{pid} } grep { $_->{cmd} !~ /^supervisord/ }
	    tree($i->{pid});
}

# What the next supervisord was offered.
sub offers {
	my ($t) = @_;
	my (%offer, @kept);

	while (defined(my $line = $t->expect(qr/^(?:adopt|kept)/, 20))) {
		$offer{$1} = $2 if $line =~ /^adopt (\d+) (.*)/;
		push @kept, $1 if $line =~ /^kept (\S+)/;
		return (\%offer, \@kept) if $line =~ /^adopt_end/;
	}
	return ({}, []);
}

# Has the launcher restart, and talks to the supervisord that comes of it.
sub restart {
	my ($i, $t) = @_;
	my $old = supervisord($i);

	kill 'USR2', $i->{pid};
	ok(scalar $t->expect(qr/^restart$/), 'supervisord is asked to end');
	$t->say('exit 75');
	wait_until(60, sub { !-d "/proc/$old" });
	wait_until(60, sub { supervisord($i) });
	return BrowserTask::Talk->new($i);
}

sub test_upgrade {
	my ($mode) = @_;
	my $i = faked($mode, settings => ['maxQueuedRuns=77']);
	my $t = BrowserTask::Talk->new($i);
	my ($launcher, $lib) = ($i->{launcher}, $i->dir . '/lib');
	my $line = arguments($i->{pid});

	$t->up(1, BROWSER, worker => 1, browser => 1);
	$t->up(2, BROWSER | KEEP, worker => 2, browser => 2, profile => 'two');
	$t->up(3, BROWSER | KEEP, worker => 3, browser => 3,
	    profile => 'three');
	ok($t->version($_), "cell $_") for 1 .. 3;
	$t->say("name 1 run_${RUN}A");
	$t->say("secret ${RUN}A 9 geheim");
	$t->say('tell 3 exit 0');
	$t->expect(qr/^worker_exited 3/);
	my @before = everything($i);
	my %new = (
		launcher => put("$build/launcher/browsertaskd", $launcher),
		supervisord => put("$build/t/launch/fakesup",
		    "$lib/supervisord"),
		workerd => put("$build/t/launch/fakework", "$lib/workerd"),
		cell => put("$build/cell/cell", "$lib/cell"),
	);
	$i->configure("maxConcurrentRuns = 3\n");
	my $was = time;
	$t = restart($i, $t);
	my ($offer, $kept) = offers($t);
	note sprintf 'offered after %.3f s', time - $was;
	is(join(' ', sort keys %$offer), '1 2 3', 'all cells are offered');
	like($offer->{1}, qr/^run_${RUN}A 1 1 1 /, 'with the name of the run');
	like($offer->{3}, qr/^- 0 1 17 \d+ \d+ three/, 'or without a worker');
	is("@$kept", "${RUN}A", 'and the secrets that there are');
	$t->say("adopted $_") for 1 .. 3;
	ok($t->version($_), "cell $_ goes on") for 1, 2;
	is(inode($i->{pid}), $new{launcher},
	    'the launcher is the file on the disk, under its pid');
	is(arguments($i->{pid}), $line, 'with its arguments');
	is(inode(supervisord($i)), $new{supervisord}, 'so is supervisord');
	like(arguments(supervisord($i)), qr/-o maxQueuedRuns=77/,
	    'with the settings of the command line');
	like(arguments(supervisord($i)), qr/-o maxConcurrentRuns=3/,
	    'and what the file says now, also what is taken at a start only');
	my %now = map { $_ => 1 } everything($i);
	is(scalar(grep { !$now{$_} } @before), 0, 'nothing has ended');
	$t->say('worker 3');
	$t->expect(qr/^worker_ready 3/);
	ok($t->version(3), 'a further worker in a kept cell');
	$t->up(4, BROWSER, worker => 4, browser => 4);
	is(inode(find($i, qr/^cell: session.*/)) ? 1 : 0, 1, 'and a new cell');
	$t->say('give 4 ' . "${RUN}A");
	$t->say('tell 4 secrets');
	is($t->expect(qr/^worker 4 secrets/), 'worker 4 secrets 9 geheimxxx',
	    'secrets are given as before');
	# What a cell is just forking looks like it.
	ok(wait_until(10, sub { 1 == grep { (inode($_) // 0) == $new{cell} }
	    map { $_->{pid} } grep { $_->{cmd} =~ /^cell/ } tree($i->{pid}) }),
	    'new cells are of the program on the disk');
	$t->say('kill 4');
	is($t->expect(qr/^reaped 4/), 'reaped 4 9 killed 0 ', 'it can end');

	# And again, as nothing but a launcher that was started so.
	$t->say('tell 1 exit 3');
	is($t->expect(qr/^reaped 1/), 'reaped 1 768 worker ended 0 ',
	    'so can those from before');
	$t = restart($i, $t);
	($offer) = offers($t);
	is(join(' ', sort keys %$offer), '2 3', 'a second time');
	$t->say("adopted $_") for 2, 3;
	ok($t->version($_), "cell $_ goes on") for 2, 3;
	$i->configure("maxConcurrentRuns = 4\nmaxQueuedRuns = 5\n");
	kill 'HUP', $i->{pid};
	ok(wait_until(60, sub { $i->log =~ /maxConcurrentRuns: 4, was 3/
	    || $i->log =~ /maxConcurrentRuns: stays 3/ }), 'SIGHUP is heard');
	return ($i, $t);
}

sub test_kept_on {
	my ($mode) = @_;
	my ($i, $t) = test_upgrade($mode);

	if ($mode eq 'system') {
		is($i->stop, 0, 'SIGTERM ends it');
	} else {
		kill 'STOP', grep { $_ != $i->{pid} } everything($i);
		kill 'KILL', $i->{pid};
	}
	is(left(60), '', 'with all from before');
}

# What is on the disk cannot take over: what runs goes on.
sub test_refused {
	my ($mode) = @_;
	my $i = faked($mode);
	my $t = BrowserTask::Talk->new($i);
	my $launcher = $i->{launcher};
	my $runs = inode($i->{pid});
	my @cases = (
		[ 'a program that ends', sub {
			put_text($launcher, "#!/bin/sh\nexit 1\n");
		}, qr/does not take over/ ],
		[ 'one that never says', sub {
			put_text($launcher, "#!/bin/sh\nexit 0\n");
			unlink $launcher;
		}, qr/does not take over/ ],
		[ 'one of another version', sub {
			put("$build/t/scenario/otherversion", $launcher);
		}, qr/with cells of version \d.*systemctl restart/ ],
		[ 'a mistake in the file', sub {
			put("$build/launcher/browsertaskd", $launcher);
			$i->configure("maxConcurrentRuns = many\n");
		}, qr/browsertaskd\.conf:1: .*many/ ],
		[ 'a program that is missing', sub {
			$i->configure('');
			rename $i->dir . '/lib/cell', $i->dir . '/cell.away';
		}, qr{cannot use program \S+/cell} ],
	);

	$t->up(1, BROWSER);
	ok($t->version(1), 'a cell');
	for my $case (@cases) {
		my ($name, $do, $said) = @$case;

		$do->();
		$t = restart($i, $t);
		is(join(' ', keys %{ (offers($t))[0] }), '1',
		    "$name: the cell is offered");
		$t->say('adopted 1');
		ok($t->version(1), 'and goes on');
		is(inode($i->{pid}), $runs, 'the launcher is as it was');
		like($i->log, $said, 'and the log says why');
	}
	rename $i->dir . '/cell.away', $i->dir . '/lib/cell';
	$t = restart($i, $t);
	offers($t);
	$t->say('adopted 1');
	ok($t->version(1), 'mended: it goes on');
	isnt(inode($i->{pid}), $runs, 'in the program on the disk');
	is($i->stop, 0, 'stop');
	is(left(60), '', 'nothing left');
}

# Items that were told of, run by run.
sub told {
	my ($c, @runs) = @_;
	return map {
		scalar grep { $_->{type} eq 'progress' } @{
		    $c->call('run.events', { runId => $_ })->{events} }
	} @runs;
}

sub states {
	my ($c, @runs) = @_;
	return join ', ', map { "$_->{status} $_->{attempt}" }
	    map { get($c, $_) } @runs;
}

# Each with an item or more, and then with a page that does not come as long as
# the site sleeps.
sub held_batches {
	my ($c, $site, $n, $pages) = @_;
	my @runs;

	kill 'STOP', $site->{pid};
	for my $i (0 .. $n - 1) {
		push @runs, batch($c, [ map { $site->url('/corpus/'
			. ($i * $pages + $_)) } 1 .. $pages ],
			{ mode => 'async' }, concurrency => 1,
			navigationTimeoutMs => 120_000)->{runId};
		event($c, $runs[-1], 60, sub {
			($_[0]{data}{phase} // '') eq 'acting' });
		kill 'CONT', $site->{pid};
		done($c, $runs[-1], 1);
		kill 'STOP', $site->{pid};
	}
	return @runs;
}

# Runs with the real browser: none notices, whichever way it is asked for.
sub test_runs {
	my ($mode) = @_;
	my $i = instance(mode => $mode, settings => ['maxConcurrentRuns=3']);
	# They must not get to their ends while another one has its first item.
	my $site = BrowserTask::Scenario::Site->new(delay_ms => 100);
	my ($pid, $pages) = ($i->{pid}, 20);
	my $c = client($i);
	my @runs = held_batches($c, $site, 3, $pages);
	my $running = join ', ', ('running 1') x 3;
	my @before = told($c, @runs);
	is(states($c, @runs), $running, 'three runs work');
	is(scalar(grep { $_ > 0 && $_ < $pages } @before), 3,
	    'and have told of some items');
	my $new = put("$build/launcher/browsertaskd", $i->{launcher});
	my ($rc, $out, $err) = $i->ctl('restart');
	is("$rc $err", '0 ', 'restart');
	like($out, qr{ runs active}, 'says so');
	$c = client($i);
	is(states($c, @runs), $running, 'the same three, as they were');
	kill 'CONT', $site->{pid};
	done($c, $runs[$_], $before[$_] + 1) for 0 .. 2;
	my @after = told($c, @runs);
	is(scalar(grep { $after[$_] > $before[$_] } 0 .. 2), 3,
	    'they tell of more to the next supervisord');
	my $old = supervisord($i);
	kill 'USR2', $pid;
	ok(wait_until(60, sub { (supervisord($i) // $old) != $old }),
	    'and again by a signal');
	is(inode($pid), $new, 'by the program on the disk, under the same pid');
	$c = client($i);
	my @ends = map { ended($c, $_, 120) } @runs;
	is(join(', ', map { "$_->{status} $_->{attempt} "
	    . $_->{result}{summary}{succeeded} } @ends),
	    join(', ', ("succeeded 1 $pages") x 3),
	    'all end well, as the same attempt') or diag $i->log;
	my %count = $site->fetched;
	is(join(' ', map { "$_: $count{$_}" }
	    grep { m{^/corpus/} && $count{$_} != 1 } keys %count), '',
	    'no page is fetched twice');
	unlike($i->log, qr/panic|<[0-3]>/, 'nothing of it is an error');
	is($i->stop, 0, 'stop');
	is(left(60, $site->{pid}), '', 'nothing left');
}

# A copy that somebody takes, more than a socket holds, goes on; there is one at
# a time before and after.
sub test_backup {
	my ($mode) = @_;
	my $i = instance(mode => $mode, scripted => 1);
	my $c = client($i);

	$c->run('scripted', { do => [ ('big') x 4 ] }, { mode => 'sync' })
	    for 1 .. 4;
	my $copy = BrowserTask::Client->new($i->admin_sock);
	ok($copy->call('store.backup', {})->{accepted}, 'a copy begins');
	is(($copy->event(60) // [''])->[0], 'store.file', '... with a file');
	my $reader = find($i, qr/^supervisord: backup/);
	ok($reader, 'a process of its own makes it');
	is(($i->ctl('restart'))[0], 0, 'restart');
	my $old = supervisord($i);
	kill 'USR2', $i->{pid};
	wait_until(60, sub { (supervisord($i) // $old) != $old });
	is(find($i, qr/^supervisord: backup/), $reader, 'twice: it goes on');
	my $other = wait_until(60, sub { eval {
		BrowserTask::Client->new($i->admin_sock) } });
	my $seq = $other->send('store.check', {});
	$other->call('profile.get');
	ok(!exists $other->{answers}{$seq}, 'and is known to');
	my %count;
	my $note;
	while ($note = $copy->event(60)) {
		$count{ $note->[0] }++;
		last if $note->[0] eq 'store.done';
	}
	ok($count{'store.data'} > 1, 'all of it comes');
	like(($note // [])->[1]{record}, qr/"runs":4,.*"faults":0/,
	    'and is good');
	ok($other->answer($seq)->{accepted}, 'then another one begins');
	is($i->stop, 0, 'stop');
	is(left(5), '', 'nothing left');
}

# One that does not end when it is asked.
sub test_deaf {
	my ($mode) = @_;
	my $i = faked($mode);
	my $t = BrowserTask::Talk->new($i);
	my $old = supervisord($i);

	$t->up(1, BROWSER);
	kill 'USR2', $i->{pid};
	ok(scalar $t->expect(qr/^restart$/), 'asked');
	ok(wait_until(60, sub { !-d "/proc/$old" }), 'killed in the end');
	$t = BrowserTask::Talk->new($i);
	is(join(' ', keys %{ (offers($t))[0] }), '1', 'the cell lives');
	like($i->log, qr/does not end to be started anew/, 'and that is logged');
	is($i->stop, 0, 'stop');
	is(left(60), '', 'nothing left');
}

# The real supervisord, asked by its administrator.
sub test_ctl {
	my ($mode) = @_;
	my $i = instance(mode => $mode, settings => ['maxConcurrentRuns=3']);
	my ($pid, $old, $egressd) = ($i->{pid}, supervisord($i),
	    find($i, qr/^egressd/));
	my $new = put("$build/launcher/browsertaskd", $i->{launcher});
	my $new_egressd = put("$build/egressd/egressd",
	    $i->dir . '/lib/egressd');

	for my $n (2 .. 4) {
		my $was = time;
		my ($rc, $out, $err) = $i->ctl('restart');
		note sprintf 'serves again after %.3f s', time - $was;
		is("$rc $err", '0 ', 'restart') or diag $i->log;
		like($out, qr/^started anew: browsertaskd \S+, epoch $n, /,
		    'says so when it serves again');
	}
	is(inode($pid), $new, 'the launcher of the disk, the same pid');
	isnt(supervisord($i), $old, 'another supervisord');
	wait_until(60, sub { find($i, qr/^egressd/) });
	isnt(find($i, qr/^egressd/), $egressd,
	    'without any cell egressd is another, too');
	is(inode(find($i, qr/^egressd/)), $new_egressd, 'that of the disk');
	my ($rc, $out) = $i->ctl('restart', '--json');
	like($out, qr/"epoch":\s*5\b/, 'as JSON');
	like($out, qr/"programs":\s*"replaced"/, 'which tells of the programs');
	($rc, $out) = $i->ctl('profile', '--json');
	like($out, qr/"maxConcurrentRuns":\s*3\b/, 'settings of -o are kept');
	unlike($i->log, qr/<3>/, 'nothing of it is an error');
	($rc, $out) = $i->ctl('audit', '--action', 'service.restart');
	is(scalar(() = $out =~ /service\.restart/g), 4, 'it is audited');
	is($i->stop, 0, 'stop');
	is(left(60), '', 'nothing left');
	ok(!-e $i->client_sock, 'no socket either');
	($rc, $out, my $err) = $i->ctl('restart');
	is($rc >> 8, 3, 'without a service there is nothing to restart');
}

# What browsertaskctl says of programs that do not take over, and of those that
# do although supervisord dies in between.
sub test_told {
	my ($mode) = @_;
	my $i = instance(mode => $mode);
	my ($runs, $old) = (inode($i->{pid}), supervisord($i));

	put_text($i->{launcher}, "#!/bin/sh\nexit 1\n");
	for my $n (2, 3) {
		my ($rc, $out, $err) = $i->ctl('restart');
		is($rc >> 8, 1, 'refused: the exit code says so');
		is($out, '', 'nothing is said to be new');
		like($err, qr/does not take over.*stay as they were.*only super/,
		    'but what was, and what was not');
		like($err, qr/hint: .*log.*restart/, 'and what to do');
		is(inode($i->{pid}), $runs, 'the launcher is the old one');
	}
	isnt(supervisord($i), $old, 'supervisord is another process');
	my ($rc, $out, $err) = $i->ctl('restart', '--json');
	is($rc >> 8, 1, 'as JSON: the same');
	like($out, qr/"programs":\s*"refused"/, '... in a word');
	put("$build/launcher/browsertaskd", $i->{launcher});
	($rc, $out, $err) = $i->ctl('restart');
	is("$rc $err", '0 ', 'mended: it restarts');
	like($out, qr/^started anew/, '... and says so');
	isnt(inode($i->{pid}), $runs, '... as the program on the disk');
	is($i->stop, 0, 'stop');
	is(left(60), '', 'nothing left');
}

sub test_dies {
	my ($mode) = @_;
	my $i = instance(mode => $mode,
		env => { BROWSERTASK_TEST_CRASH => 'restart_leaves:1' },
		programs => {
			supervisord => "$build/supervisord/supervisord-test" });
	my $new = put("$build/launcher/browsertaskd", $i->{launcher});
	my ($rc, $out, $err) = $i->ctl('restart');

	is("$rc $err", '0 ', 'it dies when it has answered: restarted') or
	    diag $i->log;
	like($out, qr/^started anew/, 'is what is said');
	is(inode($i->{pid}), $new, 'and the launcher is that of the disk');
	like($i->log, qr/supervisord was ended by signal 9/, 'it did die');
	is($i->stop, 0, 'stop');
	is(left(60), '', 'nothing left');
}

# Who asks while it restarts is answered, by the one or the other.
sub test_asked {
	my ($mode) = @_;
	my $i = instance(mode => $mode);
	my $end = $i->dir . '/end';
	my $pid = fork() // die "fork: $!\n";

	if ($pid == 0) {
		my ($rc, $n) = (0, 0);
		until (-e $end && $n) {
			my ($status, $out, $err) = $i->ctl('status');
			$n++;
			next if $status == 0;
			diag $err;
			$rc = 1;
		}
		note "asked $n times";
		POSIX::_exit($rc);
	}
	for (1 .. 3) {
		is(($i->ctl('restart'))[0], 0, 'restarted');
	}
	put_text($end, '');
	waitpid $pid, 0;
	is($?, 0, 'status is answered all the time');
	is($i->stop, 0, 'stop');
	is(left(60), '', 'nothing left');
}

for my $mode (modes()) {
	subtest "$mode: told" => sub { test_told($mode) };
	subtest "$mode: dies" => sub { test_dies($mode) };
	subtest "$mode: asked" => sub { test_asked($mode) };
	subtest "$mode: upgrade" => sub { test_kept_on($mode) };
	subtest "$mode: refused" => sub { test_refused($mode) };
	subtest "$mode: ctl" => sub { test_ctl($mode) };
	subtest "$mode: runs" => sub { test_runs($mode) };
	subtest "$mode: backup" => sub { test_backup($mode) };
}
subtest 'deaf' => sub { test_deaf((modes())[0]) };
done_testing();
