#!/usr/bin/perl
# Programs of agents start the adapter with a small environment, without
# XDG_RUNTIME_DIR. The adapter finds the user's service all the same; where it
# finds none and cannot start one, its first answer says why, at once. No page
# is opened.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Mcp;
use Cwd qw(abs_path);
use File::Path qw(remove_tree);
use File::Temp qw(tempdir);
use Test::More;
use Time::HiRes qw(time);

# A file system of our own for /run/user, since nobody is logged in here.
if ($> == 0 && !$ENV{SMALL_ENVIRONMENT}) {
	$ENV{SMALL_ENVIRONMENT} = 1;
	exec 'unshare', '-m', $^X, (map { "-I$_" } @INC), abs_path($0)
	    if system('unshare -m true') == 0;
}

my $build = abs_path($ENV{builddir} // '.');
my $dir = tempdir('smallXXXXXX', TMPDIR => 1, CLEANUP => 0);
chmod 0755, $dir;
mkdir "$dir/$_" or die for qw(lib closed);
symlink "$build/$_/$_", "$dir/lib/$_" for qw(supervisord egressd workerd cell);
open my $conf, '>', "$dir/conf" or die;
close $conf;
my @uids = $> == 0
    ? ('-o', 'uidBase=' . (2000000000 + $$ % 32768 * 4096)) : ();
my %small = (XDG_RUNTIME_DIR => undef, XDG_STATE_HOME => "$dir/xdg",
	ASAN_OPTIONS => 'detect_leaks=0');

sub adapter {
	my ($state, @args) = @_;
	my $m = BrowserTask::Mcp->new(env => \%small,
		args => [ '--service', "$build/launcher/browsertaskd", @args,
			'--', '-s', $state, '-P', "$dir/lib", '-f',
			"$dir/conf", '-o', 'warmCells=0', @uids ]);
	$m->init;
	return $m;
}

sub asked {
	my ($m) = @_;
	my $begin = time;
	my $r = $m->tool('get_runtime_profile');
	my $took = time - $begin;

	$m->eof;
	$m->wait;
	return ($took, $m->doc($r), $r);
}

# A user's service is where logins have it.
SKIP: {
	skip 'no mount namespace of our own', 3 if !$ENV{SMALL_ENVIRONMENT}
	    || (!-d '/run/user' && !mkdir '/run/user')
	    || system('mount -t tmpfs -o mode=755 none /run/user') != 0;
	my $i = BrowserTask::Harness->new(mode => 'user',
		run => '/run/user/65534/browsertask');
	mkdir '/run/user/65534', 0700 or die;
	chown 65534, 65534, '/run/user/65534' or die;
	$i->start;
	my $m = BrowserTask::Mcp->new(env => \%small, args => ['-n'],
		as => $i);
	$m->init;
	my ($took, $doc, $r) = asked($m);
	is($doc->{launcherPid}, $i->{pid}, 'the service of the user is found')
	    or diag explain $r;
	my $pid = fork() // die;
	if ($pid == 0) {
		$i->become;
		open(STDOUT, '>', '/dev/null');
		exec "$build/ctl/browsertaskctl", 'profile'
		    or POSIX::_exit(127);
	}
	waitpid($pid, 0);
	is($?, 0, '... by browsertaskctl, too');
	is($i->stop, 0, 'it stops');
}

# One that has its sockets elsewhere is named, and how to come to it.
my $m = adapter("$dir/state", '-r', "$dir/one");
my $doc = $m->doc($m->tool('get_runtime_profile'));
my $service = $doc->{launcherPid};
ok($service, 'a service is started') or diag explain $doc;
my ($took, $told, $r) = asked(adapter("$dir/state", '-r', "$dir/two"));
ok($r->{isError}, 'another one cannot be, with the same state directory');
like($told->{message}, qr{its sockets are in \Q$dir/one\E; start the adapter},
	'the answer says where the first one is');
cmp_ok($took, '<', 15, sprintf('at once: after %.1f s', $took));
$m->eof;
$m->wait;
kill 'TERM', $service if $service;
ok(wait_until(60, sub { reap_all(); !kill 0, $service }), 'it ends');

# A service of root cannot have its state below a directory that is root's only.
SKIP: {
	skip 'root only', 2 if $> != 0;
	chmod 0700, "$dir/closed";
	($took, $told, $r) = asked(adapter("$dir/closed/state", '-r',
		"$dir/three"));
	like($told->{message},
		qr{\Q$dir/closed\E has mode 0700: chmod o\+x it},
		'a state directory that cannot be reached is told, with why');
	cmp_ok($took, '<', 15, sprintf('at once: after %.1f s', $took));
}

# What the last line refers to is there, too.
mkdir "$dir/bad" or die;
mkdir "$dir/bad/$_", 0700 or die for qw(profiles store);
open my $lock, '>', "$dir/bad/lock" or die;
open my $data, '>', "$dir/bad/store/data.mdb" or die;
print $data 'this is no database' x 1000;
close $_ for $lock, $data;
chmod 0700, "$dir/bad";
($took, $told, $r) = asked(adapter("$dir/bad", '-r', "$dir/four"));
like($told->{message}, qr/supervisord: .*database.*; browsertaskd: /,
	'the errors before the last one are told');
is(left(60), '', 'nothing is left');
remove_tree($dir);
done_testing;

sub reap_all { 1 while waitpid(-1, POSIX::WNOHANG()) > 0 }
