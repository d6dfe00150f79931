#!/usr/bin/perl
# browsertaskctl as an administrator uses it, against a real service: paging,
# draining, checking templates, doctor. No run opens a page.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use JSON::PP ();
use POSIX ();
use Test::More;

my ($top, $build) = map { abs_path($_) } @ENV{qw(srcdir builddir)};
my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);
$ENV{LC_ALL} = 'C.UTF-8';

my $dir = tempdir('ctladminXXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $dir;
my $root = $> == 0;
my $nobody = 65534;
my $i = BrowserTask::Harness->new(
	settings => $root ? [ "clientGroup=$nobody",
	    "adminGroup=$nobody" ] : []);

# Runs it with the service's socket: (exit status, output, errors).
sub ctl {
	my ($status, $out, $err) = $i->ctl(@_);
	return ($status & 127 ? -1 : $status >> 8, $out // '', $err // '');
}

sub json {
	my ($rc, $out) = ctl('--json', @_);
	my $v = eval { JSON::PP->new->utf8->decode($out) };
	return wantarray ? ($rc, $v) : $v;
}

sub spew {
	my ($name, $text) = @_;
	open my $f, '>', "$dir/$name" or die "$name: $!";
	print $f $text;
	close $f or die;
	chmod 0644, "$dir/$name";
	return "$dir/$name";
}

# Before the service runs.
my ($rc, $out, $err) = ctl('doctor');
like $out, qr/^warn +service +does not answer/m, 'doctor without a service';
like $out, qr/browsertaskd/, '... says how to start it';
like $out, qr/^ok +browser /m, '... finds the browser';
unlike $out, qr/^(?!ok  |warn|FAIL|  |\n|\d|nothing|all)/m,
    '... and has a level on every line';
is $rc, $out =~ /^FAIL/m ? 1 : 0, '... and exits accordingly';
($rc, $out) = ctl('version');
is $rc, 0, 'version without a service';
like $out, qr/^browsertaskd +does not run$/m, '... says so';
is +(ctl('drain'))[0], 3, 'drain needs a service';

$i->start;

# doctor with it
($rc, my $report) = json('doctor');
my %of;
push @{ $of{ $_->{name} } }, $_ for @{ $report->{checks} };
is $of{service}[0]{level}, 'ok', 'doctor: the service answers';
is +($of{'state dir'}[0] // {})->{level}, 'ok', '... its state directory';
like $of{'state dir'}[0]{text}, qr/^\Q@{[$i->state_dir]}\E, mode 0700/,
    '... is the one it uses';
is scalar(grep { $_->{level} ne 'ok' } @{ $of{sockets} }), 0, '... sockets';
ok $of{$_}, "... $_" for qw(browser kernel namespaces sandbox uids disk
    memory cgroup), 'open files';
is scalar(grep { $_->{level} eq 'ok' ? defined $_->{advice}
	: !defined $_->{advice} } @{ $report->{checks} }), 0,
    '... advice where something is wrong, and only there';
is !!$report->{ok}, $rc == 0, '... ok as the exit status';
chmod 0755, $i->state_dir;
is +(ctl('doctor', '--state-dir', $i->state_dir))[0], 1,
    'a state directory open to others is a fault';
chmod 0700, $i->state_dir;
is +(ctl('doctor', '-B', '/etc/passwd'))[0], 1, 'a browser that is none';
like +(ctl('doctor', '-B', spew('mute', "x") ))[1], qr/^FAIL +browser/m,
    '... is told';

# doctor as it is installed, with browsertaskd beside it: what holds is what the
# file says, or the service that runs.
mkdir "$dir/$_" for qw(bin sbin tmp);
link "$build/ctl/browsertaskctl", "$dir/bin/browsertaskctl"
    or system('cp', "$build/ctl/browsertaskctl", "$dir/bin") == 0
    or die "browsertaskctl: $!";
symlink "$build/launcher/browsertaskd", "$dir/sbin/browsertaskd"
    or die "browsertaskd: $!";

sub doctor {
	my ($socket, @args) = @_;
	my $pid = open(my $fh, '-|') // die "fork: $!";
	if ($pid == 0) {
		$ENV{BROWSERTASK_SOCKET} = $socket;
		$ENV{TMPDIR} = "$dir/tmp";
		exec "$dir/bin/browsertaskctl", 'doctor', '--json', @args
		    or POSIX::_exit(127);
	}
	my $all = JSON::PP->new->decode(do { local $/; <$fh> });
	close $fh;
	my %rows;
	push @{ $rows{ $_->{name} } }, $_ for @{ $all->{checks} };
	return \%rows;
}

my $browser = (grep { -x } glob '/usr/lib/chromium/chromium*shell')[0]
    // '/usr/lib/chromium/chromium';
my $none = "$dir/none.sock";
my $conf = spew('good.conf',
    "# of a test\nuidBase = 1900000000\nminFreeBytes = 1099511627776\n");
my $rows = doctor($none, '--config', $conf);
is $rows->{settings}[0]{text}, "$conf: good", 'doctor reads the file';
like $rows->{disk}[0]{advice} // '', qr/minFreeBytes|free/,
    '... and heeds what it says of the disk';
like $rows->{uids}[0]{text}, qr/^1900000000 to /, '... and of uids'
    if $> == 0;
like $rows->{browser}[0]{text}, qr/^\S.* \d+\.\d.* opens a page, in [\d.]+ s$/,
    '... tries the browser';
if ($> != 0) {
	# One that is not named is looked for where the service looks.
	local $ENV{XDG_CONFIG_HOME} = "$dir/config";
	mkdir $_ for "$dir/config", "$dir/config/browsertask";
	my $own = spew('config/browsertask/browsertaskd.conf',
	    "maxQueuedRuns = 5\n");
	is doctor($none)->{settings}[0]{text}, "$own: good",
	    '... also that of the user who asks';
}
my $bad = spew('bad.conf', "maxQueuedRuns = 5\nuidBase = many\n");
$rows = doctor($none, '--config', $bad);
is $rows->{settings}[0]{level}, 'fail', 'a broken file is a fault';
like $rows->{settings}[0]{text}, qr/\Q$bad\E:2: .*uidBase/,
    '... with its line and what is wrong';
like $rows->{settings}[0]{advice}, qr/browsertaskd -n/, '... and advice';
chmod 0666, $conf;
$rows = doctor($none, '--config', $conf);
is $rows->{settings}[0]{level}, 'fail', 'one that others can write, too';
$rows = doctor($i->client_sock, '--config', $bad);
is $rows->{settings}[0]{level}, 'fail', 'also while the service runs';
my $base = json('profile')->{settings}{uidBase};
like $rows->{uids}[0]{text}, qr/^$base to /,
    '... whose settings are those that hold' if $> == 0;
my $dumb = spew('dumb', "#!/bin/sh\necho Browser 1.2\n");
chmod 0755, $dumb;
$rows = doctor($none, '-B', $dumb);
is $rows->{browser}[0]{level}, 'fail', 'a browser that opens no page';
like $rows->{browser}[0]{text}, qr/^Browser 1\.2 .* opens no page/,
    '... is told with its version';
is_deeply [ glob "$dir/tmp/*" ], [], 'nothing is left of it';

# version, status, profile
($rc, $out) = ctl('vers');
like $out, qr/^browsertaskctl (\S+), protocol 1\nbrowsertaskd   \1 at /,
    'version, abbreviated';
is json('version')->{browsertaskd}, json('version')->{browsertaskctl},
    'version --json';
my $p = json('profile');
is $p->{maxUrls}, 1000, 'profile: of the contract';
ok exists $p->{browser} && !defined $p->{browser}, '... no browser yet';
is $p->{stateDir}, $i->state_dir, '... the state directory, for us';
ok !$p->{draining}, '... not draining';
($rc, $out) = ctl('profile');
like $out, qr/^runTtlMs +30 min$/m, 'profile in words';
like $out, qr/^supportedModes +sync, async, auto$/m, '... lists';
like $out, qr/^runs\n  queued +0$/m, '... objects';

# draining
($rc, $out, $err) = ctl('drain');
is "$rc$out", "0no more runs are started: 0 still active, 0 waiting\n",
    'drain';
like $err, qr/browsertaskctl resume/, '... names the way back';
my @runs;
for (1 .. 5) {
	($rc, $out) = ctl('submit', 'batch_extract_pages',
	    'urls=http://127.0.0.1:9/');
	push @runs, $out =~ /^(run_\w{26})$/;
	select undef, undef, undef, 0.01;    # a time of its own
}
is @runs, 5, 'submissions are taken';
$p = json('profile');
ok $p->{draining} && $p->{drainedAt} > 1.6e12, 'the profile tells';
is $p->{queuedRuns}, 5, '... all of them wait';
($rc, $out, $err) = ctl('status');
like $out, qr/^browsertaskd \S+  draining since 20/, 'the status tells';
like $out, qr/^up +[^,]+, pid $i->{pid} \(supervisord $p->{pid}\), start/m,
    '... and whom to signal';
my $file = $i->state_dir . '/store/data.mdb';
ok wait_until(60, sub { json('profile')->{storeBytes}
	== (stat $file)[12] * 512 }), '... and what the store occupies';
$i->stop;
$i->start;
$p = json('profile');
is $p->{drainedAt}, json('drain')->{drainedAt},
    'it outlives a restart; to drain again changes nothing';
is "$p->{queuedRuns} $p->{activeRuns}", '5 0', '... and nothing started';
like $i->log, qr/the service is drained/, '... the log says why';
like +(ctl('doctor'))[1], qr/^warn +service +it is drained/m,
    'doctor tells, too';

# lists, newest first
my @newest = reverse @runs;
sub ids { return map { $_->{runId} } @{ $_[0]{runs} } }
sub listed { my (undef, $v) = json(@_); return ids($v) }
my $list = json('runs', '-n', 2);
is_deeply [ ids($list) ], [ @newest[0, 1] ], 'a page';
is $list->{total}, 5, '... of how many';
my $next = json('runs', '-n', 2, '-c', $list->{nextCursor});
is_deeply [ ids($next) ], [ @newest[2, 3] ], 'the next one';
$next = json('runs', '-n', 2, '--cursor', $next->{nextCursor});
is_deeply [ ids($next) ], [ $newest[4] ], 'and the last';
is $next->{nextCursor}, undef, '... which says so';
is json('runs', '-n', 5)->{nextCursor}, undef, 'a page that just fits';
($rc, $out, $err) = ctl('runs', '--limit', 3);
like $err, qr/^3 of 5 runs\nhint: .*--cursor \Q$newest[2]\E/,
    'people are told how to go on';
($rc, $out, $err) = ctl('runs', '--since', '1h', '-n', 2);
like $err, qr/^2 of 5 runs\n/, '... also of a time';
($rc, $out, $err) = ctl('runs', '-n', 1, '-c', $newest[0]);
like $err, qr/^1 runs, and there are more\n/, '... not behind a cursor';
($rc, $out) = ctl('runs', '--all', '-n', 2);
is_deeply [ $out =~ /^(run_\w+)/mg ], \@newest, '--all follows the cursor';
($rc, $out) = ctl('runs', '--all', '-n', 2, '--json');
is_deeply [ map { JSON::PP->new->utf8->decode($_)->{runId} }
	split /\n/, $out ], \@newest, '... as a JSON text per line';
my %made = map { $_->{runId} => $_->{createdAt} } @{ json('runs')->{runs} };
my @c = BrowserTask::Client->new($i->client_sock);
is_deeply [ ids($c[0]->call('run.list', { since => $made{ $runs[2] } })) ],
    [ @newest[0 .. 2] ], 'since';
is_deeply [ ids($c[0]->call('run.list', { until => $made{ $runs[2] } })) ],
    [ @newest[2 .. 4] ], 'until';
is $c[0]->call('run.list', { cursor => 'run_X' })->{errorCode},
    'INVALID_PARAMETER', 'no cursor';
is scalar(listed('runs', '--since', '1h')), 5, 'since an hour ago';
is scalar(listed('runs', '--until', '1h')), 0, 'until an hour ago';
is scalar(listed('runs', '--since', '2020-01-01', '--until',
    '2020-01-02 12:00')), 0, 'dates';
is +(ctl('runs', '--since', 'yesterday'))[0], 2, 'a time that is none';
is scalar(listed('runs', '-S', 'queued', '-T', 'batch_extract_pages')), 5,
    'status and template';
is scalar(listed('runs', '-S', 'failed')), 0, 'another status';
is +(ctl('runs', '-S', 'lost'))[0], 2, 'a status that is none';
is scalar(listed('runs', '-u', $>)), 5, 'of the user';
is +(ctl('runs', '-u', 'no such user'))[0], 2, 'of a user who is none';
is json('runs')->{runs}[0]{uid}, $>, 'whose it is';

# who may do what
SKIP: {
	skip 'needs root', 5 if !$root;
	my $as_nobody = sub {
		my $pid = fork // die;
		if (!$pid) {
			open STDOUT, '>', '/dev/null' or POSIX::_exit(126);
			open STDERR, '>', '/dev/null' or POSIX::_exit(126);
			$) = "$nobody $nobody";
			POSIX::setgid($nobody);
			POSIX::setuid($nobody);
			$ENV{BROWSERTASK_SOCKET} = $i->client_sock;
			exec "$build/ctl/browsertaskctl", @_
			    or POSIX::_exit(127);
		}
		waitpid $pid, 0;
		return $? >> 8;
	};
	is $as_nobody->('status'), 0, 'another user is served';
	is $as_nobody->('drain'), 4, '... but may not drain';
	is $as_nobody->('resume'), 4, '... nor resume';
	is $as_nobody->('restart'), 4, '... nor have it start anew';
	is $as_nobody->('runs', '-u', 0), 4, '... nor see what is root\'s';
	is scalar(listed('runs', '-u', $nobody)), 0, 'root may ask';
}

# templates
my $good = "$top/templates/batch_extract_pages.lua";
($rc, $out) = ctl('template', 'check', $good);
is $rc, 0, 'a good template';
like $out, qr/is a good template$/, '... is praised';
like $out, qr/^\Q$good\E:\d+: warning: id: .*is installed$/m, '... with a doubt';
{
	open my $f, '<', "$top/man/browsertask-templates.7" or die "page: $!";
	my $page = do { local $/; <$f> };
	my ($example) = $page =~ /^\.Sh EXAMPLES.*?^\.Bd.*?\n(.*?)^\.Ed/ms;
	$example =~ s/\\e/\\/g;
	($rc, $out) = ctl('template', 'check', spew('example.lua', $example));
	is $out, "$dir/example.lua: find_text 1.0.0 is a good template\n",
	    "the manual's example is one, without a doubt";
}
my %bad = (
	'syntax' => [ "local x = 1\nlocal y =\n", qr/:3: error: .*<eof>/ ],
	'running' => [ "local t\n\nreturn { t.x }\n",
		qr/:3: error: attempt to index a nil value/ ],
	'nothing' => [ "-- nothing\n", qr/: error: .*returns no table/ ],
	'no run' => [ "return {}\n", qr/: error: .*no function run/ ],
	'endless' => [ "while true do end\n", qr/: error: .*instructions/ ],
	'files' => [ "io.open('/etc/passwd')\n",
		qr/:1: error: .*nil value \(global 'io'\)/ ],
	'members' => [ "return {\n\tid = 'x y',\n\tspeed = 1,\n"
		. "\trun = function() end,\n}\n",
		qr/:2: error: id: expected.*:3: warning: speed: /s ],
	'bytes' => [ "\xff\0\x1b[31m", qr/: error: / ],
);
for my $name (sort keys %bad) {
	my ($text, $want) = @{ $bad{$name} };
	($rc, $out) = ctl('template', 'check', spew('t.lua', $text));
	is $rc, 1, "template check: $name";
	like $out, $want, '... says where and what';
	unlike $out, qr/[\x00-\x08\x0b-\x1f]/, '... without escapes';
}
is +(ctl('template', 'check', "$dir/none"))[0], 2, 'no such file';
is +(ctl('template', 'check', spew('big', '-' x 300_000)))[0], 2, 'too long';
is +(ctl('template', 'check', spew('empty', '')))[0], 2, 'empty';
($rc, my $answer) = json('template', 'c', spew("s.lua", "x = = 1\n"));
is $rc, 1, 'template check --json';
is $answer->{errors}[0]{line}, 1, '... has the line';
is $answer->{template}, undef, '... and no metadata';
(undef, $answer) = json('template', 'check', spew('m.lua', $bad{members}[0]));
is join(' ', map { $_->{line} } @{ $answer->{errors} }[0],
	@{ $answer->{warnings} }), '2 3', '... nor where the service has none';
like +(ctl('template', 'show', 'batch_extract_pages'))[1], qr/^urls /m,
    'template show';
{
	my $c = BrowserTask::Client->new($i->client_sock);
	my @asked = map { $c->send('template.check', { data => [$_] }) } 1 .. 12;
	my @got = map { $c->answer($_) } @asked;
	my @full = grep { !exists $_->{ok} } @got;
	# One may be over before the third comes, but not all that follow.
	is_deeply [ map { exists $_->{ok} } @got[ 0, 1 ] ], [ 1, 1 ],
	    'two at once';
	ok @full > 0, '... but not ' . @got;
	is_deeply [ grep { $_->{details}{cause} ne 'QUEUE_FULL' ||
		!$_->{retryable} } @full ], [], '... a third may come back';
	ok exists $c->call('template.check', { data => [4] })->{ok},
	    '... and is taken then';
	$c->send('template.check', { data => [5] });
	close $c->{sock};
	ok json('profile')->{pid}, 'one who asks and leaves does no harm';
}
ok wait_until(60, sub {
	!grep { $_->{cmd} =~ /\b(workerd|cell)\b/ } tree($i->{pid})
}), 'nothing is left of the checks';

# resume
is +(ctl('cancel', $_))[0], 0, "cancel $_" for @runs[1 .. 4];
($rc, $out) = ctl('resume');
is "$rc$out", "0runs are started again, 1 waiting\n", 'resume';
($rc, $out, $err) = ctl('wait', $runs[0]);
is $rc, 1, 'the run that waited is executed; it fails';
like $out, qr/^ *# .*\n.*127\.0\.0\.1:9/m, '... with its items';
like $out, qr/^1 in all, 0 succeeded, 1 failed/m, '... and how many';
like $err, qr/the run failed: /, '... and why';
$p = json('profile');
like $p->{browser}{product}, qr/Chrom/, 'the profile knows the browser';
ok $p->{browser}{confined}, '... and that it was confined';
ok !$p->{draining} && !defined $p->{drainedAt}, '... and drains no more';

# abbreviations
($rc, $out, $err) = ctl('re', 'x');
is $rc, 2, 'a short name of two';
is $err, "browsertaskctl: re is short for result, resume, restart or"
    . " restore\nhint: browsertaskctl --help shows what is accepted\n",
    '... which';
is +(ctl('ru'))[0], 0, 'a short name of one';
is +(ctl('artifact', 'x', 'y'))[0], 2, 'a word that is none';
like +(ctl('artifacts', $runs[0]))[1], qr/^art_\w+ +extraction/m, 'artifacts';

$i->stop;
done_testing;
