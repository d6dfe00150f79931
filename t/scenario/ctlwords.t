#!/usr/bin/perl
# What browsertaskctl says, word by word, of a service whose workers do what
# inputs say; and that on a terminal nothing of it is too long or cut.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use JSON::PP ();
use POSIX ();
use Test::More;

my $build = $ENV{builddir} // '.';
$ENV{LC_ALL} = 'C.UTF-8';
$ENV{TZ} = 'UTC';

my $i = BrowserTask::Harness->new(scripted => 1)->start;
my $c = client($i);

sub ctl {
	my ($status, $out, $err) = $i->ctl(@_);
	return ($status >> 8, $out // '', $err // '');
}

# In a process of its own; the sub waits for it.
sub aside {
	my @args = @_;
	my $pid = open(my $out, '-|') // die "fork: $!\n";

	if ($pid == 0) {
		my @said = ctl(@args);
		print JSON::PP::encode_json(\@said);
		close STDOUT;
		POSIX::_exit(0);
	}
	return sub {
		local $/;
		return @{ JSON::PP::decode_json(<$out>) };
	};
}

# Has one that still runs said this?
sub says {
	my ($re) = @_;

	for my $path (glob $i->dir . '/ctl.*.{out,err}') {
		open(my $in, '<', $path) or next;
		local $/;
		return 1 if (<$in> // '') =~ $re;
	}
	return 0;
}

sub script {
	my ($words, %options) = @_;
	my $r = $c->run('scripted', { do => [ split ' ', $words ] },
	    { mode => 'async', %options });

	return $r->{runId} // die "$r->{message}\n";
}

subtest 'wrong usage' => sub {
	my $see = 'shows what is accepted';
	my $last = 'the log says: the last row is ROW:HASH, a number and 64'
	    . ' digits';
	my @rows = (
		[ [ 'runs', '--st', 'x', '-n' ], '--limit needs a value',
			"browsertaskctl runs --help $see" ],
		[ [ 'fsck', '--s' ], '--s is short for socket or state-dir',
			"browsertaskctl fsck --help $see" ],
		[ [ 'runs', '--bogus' ], 'there is no option --bogus',
			"browsertaskctl runs --help $see" ],
		[ [ 'runs', '--key', 'k' ], 'runs does not take --key',
			"browsertaskctl runs --help $see" ],
		[ [ 'runs', '-k', 'k' ], 'runs does not take -k',
			"browsertaskctl runs --help $see" ],
		[ [ 'runs', '--all=yes' ], '--all takes no value',
			"browsertaskctl runs --help $see" ],
		[ [ 're', 'x' ], 're is short for result, resume, restart or'
			. ' restore', "browsertaskctl --help $see" ],
		[ [ 'frob' ], 'there is no command "frob"',
			"browsertaskctl --help $see" ],
		[ [ 'submit', 'scripted', '--priority', 'x' ],
			'x is none of low, normal, high and critical',
			"browsertaskctl submit --help $see" ],
		[ [ 'audit', 'verify', '--noted', 'x' ],
			'x is no ROW:HASH as the log has it', $last ],
		[ [ 'audit', 'verify', '--noted', '7:' . 'g' x 64 ],
			'7:' . 'g' x 64 . ' is no ROW:HASH as the log has it',
			$last ],
		[ [ 'runs', '--template', 'x' x 200 ], 'what was given as'
			. ' templateId is too short, too long or out of range',
			"browsertaskctl runs --help $see" ],
	);
	for my $row (@rows) {
		my ($args, $error, $hint) = @$row;
		is(join('|', ctl(@$args)),
		    "2||browsertaskctl: $error\nhint: $hint\n", "@$args");
	}
	is((ctl('runs', '--st', 'running'))[0], 0,
	    'of its own options one may be shortened');
	is((ctl('help', 'runs'))[1], (ctl('runs', '--help'))[1], 'help runs');
	is((ctl('help'))[1], (ctl('--help'))[1], 'help');
};

subtest 'what the service refuses' => sub {
	my @rows = (
		[ [ 'runs', '--cursor', 'x' ],
			'a cursor is what the hint below a list has; without'
			. ' --cursor the list begins anew' ],
		[ [ 'submit', 'scripted', '--key', '' ],
			'--key takes a text of your own that names what is to'
			. ' be done once' ],
		[ [ 'submit', 'scripted', '--allow-domains', 'a b://' ],
			'--allow-domains takes hosts with commas between, such'
			. ' as example.com,*.example.com:443' ],
		[ [ 'submit', 'scripted', 'do:=7' ],
			'browsertaskctl templates scripted shows what it takes'
		],
	);
	for my $row (@rows) {
		my ($args, $hint) = @$row;
		my ($rc, $out, $err) = ctl(@$args);
		is($rc, 4, "@$args");
		is($err =~ /^hint: (.*)$/m ? $1 : $err, $hint, '... a hint');
	}
	is(join('|', ctl('artifact', 'get', 'nope')), '4||browsertaskctl: nope'
	    . ' is neither the id of an artifact, art_..., nor of a run,'
	    . " run_...\nhint: browsertaskctl artifacts RUN lists a run's"
	    . " artifacts\n", 'what is no id');
};

subtest 'profile' => sub {
	my ($rc, $out) = ctl('profile');
	like($out, qr/^isRemote               no$/m, 'no');
	like($out, qr/^  shareRuns            no$/m, 'a switch');
	like($out, qr/^  maxQueuedRuns        1000$/m, 'a number');
	like($out, qr/^protections\n  user-namespace +base, on/m,
	    'a list of objects');
	unlike($out, qr/, ,/, 'nothing is left out');
};

subtest 'drain' => sub {
	my $held = script('hold');
	event($c, $held, 60, sub { $_[0]{type} eq 'run_started' });
	my $drain = aside('drain', '--wait');
	ok(wait_until(60, sub { says(qr/ still active/) }), 'drain --wait');
	my $queued = script('item');
	my $wait = aside('wait', $queued);
	my $said = "browsertaskctl: the service is draining: $queued waits"
	    . " until it is resumed\nhint: browsertaskctl resume lets runs"
	    . " start again\n";
	ok(wait_until(60, sub { says(qr/\Q$said\E/) }),
	    'one that waits is told');
	is((ctl('cancel', $held))[0], 0, 'the active one ends');
	is(join('|', $drain->()), "0|no more runs are started: 1 still active,"
	    . " 0 waiting\nno run is active, 1 waiting\n|",
	    'drain returns');
	is(join('|', ctl('drain', '--wait')), '0|no more runs are started: 0'
	    . " still active, 1 waiting\n|hint: browsertaskctl resume lets runs"
	    . " start again\n", 'at once when none is active');
	is((ctl('resume'))[1], "runs are started again, 1 waiting\n", 'resume');
	is(($wait->())[0], 0, 'the one that waited ends');
};

subtest 'one run' => sub {
	my $id = script('item art art hold');
	event($c, $id, 60, sub { $_[0]{type} eq 'artifact_created' });
	my ($rc, $out) = ctl('restart');
	like($out, qr/^started anew: browsertaskd \S+, epoch 2, 1 run active, 0 waiting$/,
	    'restart counts one run');
	$c = client($i);
	is((ctl('cancel', $id))[0], 0, 'canceled');
	ended($c, $id);
	(undef, $out) = ctl('audit', '--run', 'last', '--all');
	my @rows = split /\n/, $out;
	cmp_ok(scalar @rows, '>', 2, 'audit --run last');
	is(scalar(grep { /\Q$id\E/ } @rows), @rows - 1, '... is that run');
};

subtest 'files that cannot be' => sub {
	my $none = $i->dir . '/none/x';
	my $hint = 'hint: make the directory first: mkdir -p ' . $i->dir
	    . "/none\n";
	my $ran = script('result');
	ended($c, $ran);
	is(join('|', ctl('backup', $none)), "1||browsertaskctl: $none: No such"
	    . " file or directory\n$hint", 'backup');
	is(join('|', ctl('result', $ran, '-o', $none)), "1||browsertaskctl:"
	    . " $none: No such file or directory\n$hint", 'result -o');
	is(join('|', ctl('restore', '--state-dir', $i->dir . '/new', $none)),
	    "1||browsertaskctl: $none: No such file or directory\nhint: name"
	    . " a directory that browsertaskctl backup made\n", 'restore');
	like((ctl('doctor', '--browser', $none))[1],
	    qr/^FAIL +browser +\Q$none\E is not there\n +\S+ +name the browser/m,
	    'doctor --browser');
	like((ctl('doctor', '--config', $none))[1],
	    qr/^(?:warn +settings +the file was not checked: there is no \S+browsertaskd$|FAIL +settings )/m,
	    'doctor --config says so without browsertaskd, too');
};

subtest 'backup and restore' => sub {
	my ($copy, $state) = map { $i->dir . "/$_" } qw(copy new);
	my $head = qr/^\Q$state\E: \d+ runs, \d+ artifacts, 0 sessions/;
	like((ctl('backup', $copy))[1],
	    qr/^\Q$copy\E: \d+ runs, \d+ artifacts, 0 sessions, \S+ kB in 1 file$/,
	    'backup counts');
	my ($rc, $out, $err) = ctl('restore', '--state-dir', $state, $copy);
	like($out, qr/$head$/, 'restore, too');
	is($err, "hint: start the service: browsertaskd -s $state\n",
	    '... and says how to go on');
	system('rm', '-rf', $state);

	# Records that are not what they were, under a sum that fits.
	system(qq(cd $copy && sed -i 's/scripted/scriptee/g' records &&
	    sha256sum records >SHA256SUMS)) == 0 or die "$copy\n";
	($rc, $out, $err) = ctl('restore', '--state-dir', $state, $copy);
	is("$rc$out", '1', 'nothing is made of a damaged one');
	like($err, qr/^browsertaskctl: run_\w{26}: the record does not match/m,
	    '... whose runs have their ids');
	unlike($err, qr/^browsertaskctl: (?!run_|art_|\/)\S+: /m,
	    '... and other records the table they are in');
	is((ctl('restore', '--force', '--state-dir', $state, $copy))[0], 0,
	    '... but with --force');
};

subtest 'a directory of another user' => sub {
	plan skip_all => 'needs root' if $> != 0;
	my $dir = $i->dir . '/theirs';
	mkdir $dir, 0700 or die "$dir: $!\n";
	my $pid = open(my $out, '-|') // die "fork: $!\n";
	if ($pid == 0) {
		open STDERR, '>&', \*STDOUT or POSIX::_exit(126);
		POSIX::setgid(65534);
		POSIX::setuid(65534);
		exec "$build/ctl/browsertaskctl", 'fsck', '--state-dir', $dir
		    or POSIX::_exit(127);
	}
	is(join('', <$out>), "browsertaskctl: $dir/lock: Permission denied\n"
	    . "hint: ask as root, or as the user whose directory it is\n",
	    'fsck --state-dir');
	close $out;
};

subtest 'secrets' => sub {
	my @dir = ('--dir', $i->dir . '/secrets');
	my $add = sub {
		my $dir = $dir[1];
		return qx(echo x | $build/ctl/browsertaskctl secret add pin @_ --dir $dir 2>&1);
	};
	is(join('|', ctl('secret', 'list', @dir)), "0||no secrets\n", 'none');
	like($add->(), qr/^browsertaskctl: secret add: say which hosts .*--for-host/,
	    'without hosts');
	is($add->('--for-host', 'a.example'), qq(stored; inputs name it {"secretRef":"pin"}\n), 'new');
	is($add->(), qq(replaced; inputs name it {"secretRef":"pin"}\n), 'anew');
	SKIP: {
		skip 'they are of another user', 2 if $i->{drop};
		my (undef, $out) = ctl('secret', 'list', @dir);
		like($out, qr/^NAME  FOR +HOSTS +STORED +NOTE\npin   everybody  a.example  2/,
		    'list');
		(undef, $out) = ctl('secret', 'list', @dir, '--json');
		like($out, qr/^\[\n  \{\n    "name": "pin",\n/, '... as JSON');
	}
	like((ctl('version', '--json'))[1], qr/^\{\n  "browsertaskctl": "/,
	    'the version as JSON');
};

# What it says on a terminal of so many columns, line by line.
sub on_terminal {
	my ($columns, @args) = @_;
	my $socket = $i->client_sock;

	local $ENV{BROWSERTASK_SOCKET} = $socket;
	local $ENV{TERM} = 'dumb';
	my $said = qx(script -qec "stty cols $columns; exec $build/ctl/browsertaskctl @args" /dev/null </dev/null 2>&1);
	utf8::decode($said);
	# A line that was drawn anew is what it was at last.
	return map { s/.*\r\e\[K//r } split /\r?\n/, $said;
}

SKIP: {
	skip 'script(1) is not installed', 1
	    if system('script -V >/dev/null 2>&1') != 0;
	my $id = script('item art result');
	ended($c, $id);
	for my $args ('--help', 'submit --help', 'sessions --help',
	    'restore --help', 'audit --action bogus', 'show run_x', 'profile',
	    'status', 'doctor', 'audit', "events $id", "result $id", 'fsck',
	    '-s /nonexistent/socket status') {
		my @lines = on_terminal(80, $args);
		cmp_ok(scalar @lines, '>', 0, "$args: on a terminal");
		is(join("\n", grep { length > 80 } @lines), '',
		    '... no line is too long');
	}
	my ($art) = map { $_->{artifactId} } grep { $_->{kind} eq 'extraction' }
	    @{ $c->call('artifact.list', { runId => $id })->{artifacts} };
	my $events = join "\n", on_terminal(80, "events $id");
	like($events, qr/ artifact_created  \Q$art\E\n {39}extraction  \d+ B$/m,
	    'an event goes on below');
	unlike($events, qr/\x{2026}/, '... and is not cut');
	unlike(join("\n", on_terminal(80, 'audit')), qr/\x{2026}/,
	    'nor is the audit log');
	my (undef, undef, $flat) = ctl('audit', '--action', 'bogus');
	my $said = join "\n", on_terminal(60, 'audit --action bogus');
	is($said =~ s/\n {6}/ /gr, $flat =~ s/\n\z//r,
	    'the same words as elsewhere');
}

is($i->stop, 0, 'stop');
done_testing;
