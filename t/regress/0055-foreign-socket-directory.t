#!/usr/bin/perl
# /tmp/browsertask-UID, made by somebody else, kept a user from having a service
# at all, where there is no /run/user/UID. mcp_start.t has a /tmp of its own.
use strict;
use warnings;
use BrowserTask::Harness;
use File::Path qw(remove_tree);
use File::Temp qw(tempdir);
use Fcntl qw(F_SETFD);
use POSIX qw(setuid setgid);
use Test::More;

plan skip_all => 'needs root, to be two users' if $> != 0;
my $uid = 1_900_000_000 + $$;
my $foreign = "/tmp/browsertask-$uid";
my $build = $ENV{builddir};
# Its own instance is not started: what it knows of programs is used.
my $i = BrowserTask::Harness->new;
my $home = tempdir('bt-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chown $uid, $uid, $home;
mkdir $foreign or die "$foreign: $!\n";
my $me = $$;
END { rmdir $foreign if $foreign && $$ == ($me // 0) }

# As that user, with a small environment.
sub begin {
	my ($out, @command) = @_;
	my $pid = fork() // die "fork: $!\n";
	return $pid if $pid != 0;
	open(STDIN, '<', '/dev/null');
	open(STDOUT, '>', $out);
	open(STDERR, '>&', \*STDOUT);
	%ENV = (HOME => $home, PATH => '/usr/bin:/bin');
	$) = "$uid $uid";
	setgid($uid);
	setuid($uid);
	chdir '/';
	exec @command or POSIX::_exit(127);
}

my $pid = begin("$home/log", "$build/launcher/browsertaskd", '-P',
	$i->dir . '/lib', '-o', 'warmCells=0');
my $there = wait_until(60, sub {
	-S "$home/.local/state/browsertask-run/client.sock"
	    && (BrowserTask::Harness::slurp("$home/log") // '') =~ /serving/
	    || !kill 0, $pid });
ok($there && kill(0, $pid), 'the service runs beside somebody else\'s directory')
    or diag BrowserTask::Harness::slurp("$home/log");
my $asks = begin("$home/out", "$build/ctl/browsertaskctl", 'status');
waitpid $asks, 0;
is($?, 0, 'and is found') or diag BrowserTask::Harness::slurp("$home/out");
is(scalar(my @made = glob "$foreign/*"), 0, 'nothing was made in the other');
kill 'TERM', $pid;
waitpid $pid, 0;
is($?, 0, 'stops');
done_testing();
