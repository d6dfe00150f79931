#!/usr/bin/perl
# The configuration file, as an administrator meets it: checked with -n, read
# at the start, overridden by options, read again on SIGHUP while the service
# runs, broken or not.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;
use Time::HiRes qw(time);

my $program = ($ENV{builddir} // '.') . '/launcher/browsertaskd';

# What `browsertaskd -n' says to a file; the values that it lists behind a
# verdict are left in @changed.
my @changed;
sub check {
	my ($i, $text, @options) = @_;

	$i->configure($text) if defined $text;
	my @command = ($program, '-n', '-f', $i->conf, @options);
	my $pid = open(my $out, '-|') // die "fork: $!\n";
	if ($pid == 0) {
		open(STDERR, '>&', \*STDOUT);
		exec { $command[0] } @command or POSIX::_exit(127);
	}
	my $said = do { local $/; <$out> } // '';
	close $out;
	$said =~ s/\Q@{[ $i->conf ]}\E/FILE/g;
	my $status = $? >> 8;
	@changed = $said =~ /^(\w+ = \S+)$/mg;
	$said =~ s/^\w+ = \S+\n//mg;
	return "$status $said";
}

# The settings' names, types and limits, as -h tells them.
sub table {
	my @rows;
	my $name;
	open(my $help, '-|', $program, '-h') or die "$program: $!\n";
	while (<$help>) {
		push @rows, { name => $1, def => $2, least => $3, most => $4 }
		    if /^  (\w+) +(\S+)(?:  \((-?\d+) to (\d+) .*\))?$/;
		push @rows, { name => $1, def => '""' }
		    if /^  (\w+) +\(none\)  \(.*, at most 1023 bytes\)$/;
	}
	close $help;
	return @rows;
}

sub logged {
	my ($i, $re, $seconds) = @_;
	return wait_until($seconds // 20, sub { $i->log =~ $re });
}

# Writes the file anew, asks for a reload and waits for this in the log.
sub reload {
	my ($i, $text, $re) = @_;
	my $from = length $i->log;

	$i->configure($text) if defined $text;
	kill HUP => $i->{pid};
	wait_until(60, sub { substr($i->log, $from) =~ $re });
	return substr $i->log, $from;
}

sub count {
	my ($text, $re) = @_;
	return scalar(() = $text =~ /$re/g);
}

sub test_check {
	my $i = BrowserTask::Harness->new;
	my @rows = table();

	cmp_ok(@rows, '>', 15, 'the table of settings');
	is(check($i, ''), "0 FILE: good\n", 'an empty file is good');
	my $text = join '', map { "$_->{name} = $_->{def}\n" } @rows;
	is(check($i, $text), "0 FILE: good\n", 'all defaults are good');
	$text = do {
		my $file = ($ENV{srcdir} // '.')
		    . '/man/browsertaskd.conf.sample';
		open(my $fh, '<', $file) or die "$file: $!\n";
		local $/;
		<$fh>;
	};
	is(check($i, $text), "0 FILE: good\n", 'so is the sample');
	is($text =~ s/^#(\w+ = )/$1/mgr =~ s/^#.*\n|^\n//mgr,
	    join('', map { "$_->{name} = $_->{def}\n" } @rows),
	    'which has all settings and their defaults');
	is(check($i, $text =~ s/^#(\w+ = )/$1/mgr), "0 FILE: good\n",
	    'the comment signs removed, too');
	for my $row (grep { defined $_->{least} } @rows) {
		my $n = $row->{name};
		my $range = "write a number from $row->{least} to "
		    . "$row->{most} ";
		is(check($i, "$n = $row->{most}\n"), "0 FILE: good\n",
		    "$n: highest");
		like(check($i, "\n$n = " . ($row->{least} - 1) . "\n"),
		    qr/^78 browsertaskd: FILE:2: $n: .*too small: $range/,
		    "$n: too small");
		like(check($i, "\n\n$n = " . ($row->{most} + 1) . "\n"),
		    qr/^78 browsertaskd: FILE:3: $n: .*too large: $range/,
		    "$n: too large");
		like(check($i, "# text\n$n = much\n"),
		    qr/^78 browsertaskd: FILE:2: $n: "much" is not .*: $range/,
		    "$n: wrong type");
	}
	is(check($i, "debug = 7\n"), '78 browsertaskd: FILE:1: debug: "7" is '
	    . "neither yes nor no: write one of these\n", 'a switch');
	is(check($i, "debug = no\nmaxRun = 7\n"), '78 browsertaskd: FILE:2: '
	    . qq(unknown setting "maxRun": browsertaskd -h lists all\n),
	    'an unknown setting');
	is(check($i, "maxClient = 7\n"), '78 browsertaskd: FILE:1: unknown '
	    . qq(setting "maxClient": did you mean maxClients?\n),
	    'a misspelt one');
	is(check($i, "debug = no\nupstreamProxy = http://u:pw\@proxy:3128\n"),
	    '78 browsertaskd: FILE:2: // in a value begins a comment: put the'
	    . " value in quotes, or a blank before the comment\n",
	    'a URL without quotes');
	is(check($i, "forbiddenDomains = *\n\n"), '78 browsertaskd: FILE:1: *'
	    . qq( needs quotes: write name = "value"\n), 'a pattern, too');
	is(check($i, "allowedDomains = \" \"\n"), '78 browsertaskd: FILE:1: '
	    . 'allowedDomains: " " has an entry that is empty, or two without '
	    . "a comma between: write one comma between two entries\n",
	    'a list that would allow everything');
	is(check($i, "waive = none\n"), '78 browsertaskd: FILE:1: waive: "none"'
	    . " has a name that is no protection's: write ipc-namespace, "
	    . 'uts-namespace, own-uids, call-filters, landlock, control-groups,'
	    . " no-core-dumps\n", 'a long message is told to its end');
	is(check($i, "uidBlocks = 4\nuidBase = 4294901760\n"),
	    "0 FILE: good\n", 'settings that go together');
	like(check($i, "# uids\nuidBlocks = 2000\nuidBase = 4294901760\n"),
	    qr/^78 browsertaskd: FILE:2: uidBlocks: .*at most 1023$/,
	    'settings that do not');
	is(check($i, "maxClients = 7\n", '-o', 'maxClients=8'),
	    "0 FILE: good\n", 'with an option');
	like(check($i, '', '-o', 'maxClients=0'), qr/^64 /, 'a wrong option');

	chmod 0666, $i->conf;
	like(check($i), qr/^78 .*others can write to it .*: chmod go-w$/,
	    'a file that others can write to');
	unlink $i->conf;
	like(check($i), qr/^78 browsertaskd: FILE: No such file/,
	    'a file that is named and not there');
}

subtest 'what a file changes' => sub {
	my $i = BrowserTask::Harness->new;

	is(check($i, "maxClients = 8\ndebug = yes\nmaxTabsPerSession = 20\n",
		'-o', 'runTtlMs=5000'), "0 FILE: good\n", 'good');
	is_deeply([ sort @changed ], [ 'debug = yes', 'maxClients = 8',
		'runTtlMs = 5000' ], 'is listed, options too, defaults not');
	is(check($i, "debug = no\n") . @changed, "0 FILE: good\n0",
		'nothing is listed when nothing changes');
};

# A good file cut at every byte: -n answers, good or with a line.
sub test_truncation {
	my $i = BrowserTask::Harness->new;
	my $text = "# a\nmaxClients = 12\n/* b */ debug = \"no\"\n";
	my @wrong;

	for my $cut (0 .. length $text) {
		my $said = check($i, substr $text, 0, $cut);
		push @wrong, "$cut: $said"
		    if $said !~ /^(0 FILE: good|78 browsertaskd: FILE:\d+: .+)$/;
	}
	is("@wrong", '', 'each beginning of a file is judged');
}

sub test_start {
	my ($mode) = @_;
	my $i = BrowserTask::Harness->new(mode => $mode,
	    conf => "maxQueuedRuns = 7\nmaxConcurrentRuns = 3\n",
	    settings => [ 'maxConcurrentRuns=2' ])->start;
	my $c = BrowserTask::Client->new($i->client_sock);
	my $p = $c->call('profile.get');

	is($p->{maxQueuedRuns}, 7, "$mode: a setting of the file");
	is($p->{maxConcurrentRuns}, 2, "$mode: an option is over it");
	my $log = reload($i, "maxQueuedRuns = 8\nmaxConcurrentRuns = 4\n"
	    . "uidBlocks = 3\n", $mode eq 'system'
	    ? qr/: setting maxQueuedRuns/ : qr/: setting uidBlocks/);
	my $queued = sub {
		my ($n) = @_;
		return wait_until(60, sub {
			$c->call('profile.get')->{maxQueuedRuns} == $n;
		});
	};
	ok($queued->(8), "$mode: a change of the file is in effect");
	like($log, qr/^<6>browsertaskd: setting maxQueuedRuns: 8, was 7$/m,
	    "$mode: the reload is logged");
	is(count($log, qr/^<\d>browsertaskd: setting/m),
	    $mode eq 'system' ? 1 : 2, "$mode: a line for each change");
	like($log, qr/^<4>browsertaskd:\ setting\ uidBlocks:\ stays\ 7\ until
	    \ a\ start\ or\ restart,\ then\ 3$/mx,
	    "$mode: and for what has to wait") if $mode eq 'user';
	is($c->call('profile.get')->{maxConcurrentRuns}, 2,
	    "$mode: the option is still over it");

	$log = reload($i, "maxQueuedRuns = 9\n\nmaxClients = none\n",
	    qr/stay as they were/);
	like($log, qr/^<3>browsertaskd:\ \S+browsertaskd\.conf:3:\ maxClients:
	    \ "none"\ is\ not\ a\ whole\ number:.*;\ all\ settings\ stay/mx,
	    "$mode: a broken file is logged");
	is($c->call('profile.get')->{maxQueuedRuns}, 8,
	    "$mode: and changes nothing");

	chmod 0666, $i->conf;
	like(reload($i, undef, qr/stay as/), qr/others can write to it/,
	    "$mode: neither does one that others can write to");
	unlink $i->conf;
	like(reload($i, undef, qr/stay as/), qr/No such file/,
	    "$mode: nor one that is gone");
	like(reload($i, "maxQueuedRuns = 8\n", qr/no setting changed|uidBl/),
	    qr/^<6>browsertaskd: (reload: no setting changed)$/m,
	    "$mode: the same again changes nothing");

	# The signal is for one process; who takes another is not punished.
	my ($pid, $launcher) = @{ $c->call('profile.get') }{
	    qw(pid launcherPid) };
	is($launcher, $i->{pid}, "$mode: the profile has the launcher's pid");
	my @others = grep { $_->{cmd} =~ /^(supervisord|egressd)/ }
	    tree($i->{pid});
	is(@others, 2, "$mode: supervisord and egressd");
	kill HUP => map { $_->{pid} } @others;
	is($c->call('profile.get')->{pid}, $pid,
	    "$mode: SIGHUP to supervisord is no end of it");
	my $ignored = grep { (BrowserTask::Harness::slurp(
		"/proc/$_->{pid}/status") // '') =~ /^SigIgn:.*[13579bdf]$/m }
	    @others;
	is($ignored, 2, "$mode: it is ignored, in both");

	# A new supervisord knows, too.
	kill KILL => $pid;
	wait_until(60, sub { count($i->log, qr/: serving, epoch/) == 2 });
	$c = BrowserTask::Client->new($i->client_sock);
	is($c->call('profile.get')->{maxQueuedRuns}, 8,
	    "$mode: a supervisord started later has it");
	is($i->stop, 0, "$mode: and the service stops as it should");
}

# Many signals and files, the last one holds.
sub test_storm {
	my $i = BrowserTask::Harness->new->start;
	my $c = BrowserTask::Client->new($i->client_sock);

	for my $n (1 .. 100) {
		$i->configure($n % 3 == 0 ? "nothing\n"
		    : "maxQueuedRuns = $n\ndebug = " . ($n % 2) . "\n");
		kill HUP => $i->{pid};
	}
	reload($i, "maxQueuedRuns = 77\n", qr/: setting maxQueuedRuns: 77,/);
	ok(wait_until(60, sub {
		$c->call('profile.get')->{maxQueuedRuns} == 77;
	}), 'a storm of signals, and the last file holds');
	is(count($i->log, qr/: serving, epoch/), 1, 'nothing was started anew');
	is($i->stop, 0, 'stopped');
}

# In a terminal: SIGHUP is a reload as long as that is there, then the end.
sub test_terminal {
	my $i = BrowserTask::Harness->new;
	my $log = $i->dir . '/typescript';
	my $command = join ' ', $i->command(99);
	$command =~ s/ --ready-fd 99//;
	my $pid = fork() // die "fork: $!\n";

	if ($pid == 0) {
		open(STDIN, '<', '/dev/null');
		open(STDOUT, '>', '/dev/null');
		exec 'script', '-q', '-f', '-c', "exec $command", $log
		    or POSIX::_exit(127);
	}
	my $text = sub {
		open(my $fh, '<', $log) or return '';
		local $/;
		return scalar <$fh> // '';
	};
	ok(wait_until(60, sub { $text->() =~ /: serving, epoch/ }),
	    'started in a terminal');
	my ($p) = grep { $_->{cmd} =~ m{launcher/browsertaskd} } tree($pid);
	kill HUP => $p->{pid};
	ok(wait_until(60, sub { $text->() =~ /reload: no setting changed/ }),
	    'SIGHUP is a reload');
	kill KILL => $pid;
	is(left(60), '', 'without its terminal it stops');
}

# Settings that something has to be done for.
sub test_effects {
	my $i = BrowserTask::Harness->new(conf => "maxClients = 2\n")->start;
	my @in = map { BrowserTask::Client->new($i->client_sock) } 1 .. 2;
	my $late = BrowserTask::Client->new($i->client_sock, raw => 1);
	my $hello = $late->send('hello', { proto => 1, client => 'late' });

	ok(!$late->receive(0.1), 'a third client waits');
	reload($i, "maxClients = 3\n", qr/: setting maxClients: 3, was 2/);
	is($late->answer($hello)->{proto}, 1, 'until there may be three');

	# Which of its processes ends first is chance.
	ok(logged($i, qr/^<6>supervisord:\ describe:\ cell\ \d+:\ (?:is\ gone,
	    \ as\ it\ was\ told|reaped:\ worker\ ended,\ status\ 0)$/mx),
	    'a cell that has done its work is no fault');
	unlike($i->log, qr/^<7>/m, 'no log of every decision');
	reload($i, "maxClients = 3\ndebug = yes\n",
	    qr/supervisord: setting debug: yes taken over/);
	undef $late;
	ok(logged($i, qr/^<7>supervisord: client late/m), 'debug is on');
	my $log = reload($i, "maxClients = 3\ndebug = yes\n"
	    . "secretsDir = '/srv/x'\n", qr/: setting secretsDir/);
	like($log, qr{^<4>browsertaskd:\ setting\ secretsDir:\ stays\ ""\ until
	    \ a\ start\ or\ restart,\ then\ "/srv/x"$}mx,
	    'a text that has to wait is in quotes');
	reload($i, "maxClients = 3\n", qr/: setting debug: no, was yes/);
	my $decisions = sub { count($i->log, qr/^<7>/m) };
	my $quiet = sub {
		my $before = $decisions->();
		BrowserTask::Client->new($i->client_sock);
		wait_until(60,
			sub { $in[0]->call('profile.get')->{clients} == 2 });
		return $decisions->() == $before;
	};
	ok(wait_until(60, $quiet), 'and off again');
	is(count($i->log, qr/^(?!<[3467]>\w+: )/m), 0,
	    'every line has a priority and a program');
	is($i->stop, 0, 'stopped');
}

# More runs at once, with the real browser: one that waits begins.
sub test_runs {
	my $site = BrowserTask::Scenario::Site->new;
	my $i = BrowserTask::Harness->new(
	    conf => "maxConcurrentRuns = 1\n")->start;
	my $c = client($i);
	my @runs = map {
		batch($c, [ $site->url('/never-headers') ],
		    { mode => 'async' })->{runId}
	} 1 .. 2;
	my $started = sub { $_[0]{type} eq 'run_started' };

	ok(event($c, $runs[0], 120, $started), 'a run is active');
	is($c->call('profile.get')->{queuedRuns}, 1, 'another one waits');
	reload($i, "maxConcurrentRuns = 2\n",
	    qr/: setting maxConcurrentRuns: 2, was 1/);
	ok(event($c, $runs[1], 120, $started), 'and begins after a reload');
	is($c->call('profile.get')->{maxConcurrentRuns}, 2, 'as is told');
	$c->call('run.cancel', { runId => $_ }) for @runs;
	is($i->stop, 0, 'stopped');
	$site->stop;
}

# Runs $sub as that user, for the kernel to tell the service.
sub as_user {
	my ($uid, $sub) = @_;
	my ($euid, $egid) = ($>, $));

	$) = '65534 65534';
	$> = $uid;
	my $value = eval { $sub->() };
	my $error = $@;
	$> = $euid;
	$) = $egid;
	die $error if $error;
	return $value;
}

# One user's share of the connections.
sub test_share {
	my $i = BrowserTask::Harness->new(
	    settings => [ 'clientGroup=65534', 'maxClients=40', 'helloMs=60000' ],
	    conf => "maxClientsPerUid = 2\n")->start;
	my $enter = sub {
		my ($uid, @how) = @_;
		return as_user($uid, sub {
			BrowserTask::Client->new($i->client_sock, @how);
		});
	};
	my @in = map { $enter->(65534) } 1 .. 2;
	my $refused = sub {
		my $c = $enter->(65534, raw => 1);
		my $seq = $c->send('hello', { proto => 1, client => 'more' });
		return ($c->answer($seq), $c);
	};
	my ($e, $c) = $refused->();

	is($e->{errorCode}, 'EXECUTION_ERROR', 'above its share: refused');
	is($e->{details}{cause}, 'CLIENT_LIMIT', 'with the cause');
	like($e->{message}, qr/uid 65534 .*maxClientsPerUid.*: 3 with this/,
	    'in words');
	like($e->{recoverHint}, qr/^Close connections/, 'with advice');
	ok($c->closed(60), 'and closed');
	like($i->log, qr/^<4>supervisord: uid 65534: has its share of 2 /m,
	    'and logged');
	my $socket = $i->client_sock;
	my $ctl = "$ENV{builddir}/ctl/browsertaskctl status";
	my $as = 'setpriv --reuid=65534 --regid=65534 --clear-groups';
	my $said = qx(BROWSERTASK_SOCKET='$socket' $as $ctl 2>&1);
	like($said, qr/^browsertaskctl:\ uid\ 65534\ .*\(EXECUTION_ERROR\)\n
	    hint:\ Close\ connections/x, 'browsertaskctl says the same');
	is($enter->(65533)->call('profile.get')->{isRemote} + 0, 0,
	    'another user comes in');
	my @root = map { BrowserTask::Client->new($i->client_sock) } 1 .. 4;
	is($root[3]->{hello}{proto}, 1, 'root has no limit');
	pop @in;
	wait_until(60, sub { $root[0]->call('profile.get')->{clients} <= 5 });
	push @in, $enter->(65534);
	is($in[1]->{hello}{proto}, 1, 'a place that is free can be taken');
	reload($i, "maxClientsPerUid = 3\n",
	    qr/: setting maxClientsPerUid: 3, was 2/);
	ok(wait_until(60, sub {
		($e, $c) = $refused->();
		return defined $e->{proto};
	}), 'after a reload there are more');
	push @in, $c;

	# A crowd that does not even say hello.
	my @crowd = map { $enter->(65534, raw => 1) } 1 .. 60;
	is($enter->(65533)->{hello}{proto}, 1, 'a crowd keeps nobody out');
	is(count($i->log, qr/^<4>supervisord: uid 65534: has its share/m), 1,
	    'and is no crowd in the log');
	ok(wait_until(60, sub { !grep { !$_->closed(0.01) } @crowd }),
	    'all of it is sent away before long');
	is($i->stop, 0, 'stopped');
}

# The group that may connect, and no more.
sub test_group {
	my $i = BrowserTask::Harness->new->start;
	my $enter = sub {
		return as_user(65534, sub {
			eval { BrowserTask::Client->new($i->client_sock) };
		});
	};
	# The line in the log comes before the change.
	my $mode = sub {
		my ($want) = @_;
		return wait_until(60, sub {
			(stat $i->client_sock)[2] % 01000 == $want;
		});
	};

	ok($mode->(0600), 'the socket is root\'s');
	ok(!$enter->(), 'a user does not come in');
	reload($i, "clientGroup = \"65534\"\n",
	    qr/: setting clientGroup: "65534", was ""/);
	ok($mode->(0660), 'after a reload it is the group\'s, too');
	ok(wait_until(60, $enter), 'who comes in then');
	reload($i, '', qr/: setting clientGroup: "", was "65534"/);
	ok($mode->(0600), 'and root\'s again');
	ok(!$enter->(), 'who does not any more');
	my $name = getgrgid(65534);
	if (defined $name) {
		reload($i, "clientGroup = \"$name\"\n",
		    qr/: setting clientGroup: "65534", was ""/);
		ok(wait_until(60, $enter), 'a group has a name, too');
	}
	reload($i, "clientGroup = \"no-such-group\"\n",
	    qr/:1: clientGroup: there is no group "no-such-group" in .*stay/);
	is($i->stop, 0, 'stopped');
	my $j = BrowserTask::Harness->new(
	    conf => "\nadminGroup = \"no-such-group\"\n");
	$j->launch;
	is($j->wait, 78 << 8, 'with a group that is not there it does not run');
	like($j->log, qr/browsertaskd\.conf:2: adminGroup: /,
	    'and says where it stands');
}

# Started with a mistake, it does not run.
sub test_refused {
	my $i = BrowserTask::Harness->new(conf => "\nmaxClients = 0\n");
	$i->launch;
	is($i->wait, 78 << 8, 'a broken file is no start');
	like($i->log, qr{^<3>browsertaskd: \S+/browsertaskd\.conf:2: maxC}m,
	    'and logged with its line');
	ok(!-e $i->state_dir, 'before anything is made');
}

test_check();
test_truncation();
test_start($_) for modes();
test_effects();
test_storm();
SKIP: {
	skip 'script(1) is not installed', 3
	    if system('script -V >/dev/null 2>&1') != 0;
	test_terminal();
}
test_runs();
test_refused();
SKIP: {
	skip 'needs root to be several users', 1 if $> != 0;
	test_share();
	test_group();
}
is(left(60), '', 'nothing is left');
done_testing;
