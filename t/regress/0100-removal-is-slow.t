#!/usr/bin/perl
# The launcher removed the profile of a closed session on its one loop: hundreds
# of files, and where the disk takes its time for each, no cell came up and no
# ping was answered meanwhile. 0040 has a slow disk, but for supervisord only.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Starved;
use Test::More;

# A removal of at least 40 s for a session; hangMs is 10 s.
use constant { FILES => 400, UNLINK_MS => 100, SESSIONS => 2, RUNS => 5 };

my $program = BrowserTask::Starved->new('browsertaskd');
my $i = BrowserTask::Harness->new(scripted => 1,
	launcher => $program->path)->start;
my $kept = $i->state_dir . '/profiles/kept';
my $c = client($i);

sub names {
	my ($dir) = @_;
	opendir(my $dh, $dir) or return;
	return grep { !/^\.\.?$/ } readdir $dh;
}

sub files { return scalar map { names("$kept/$_") } grep { /^\./ } names($kept) }

sub removers {
	return grep { $_->{state} ne 'Z' && $_->{name} eq 'profile-remover' }
	    tree($i->{pid});
}

# A session with a profile as a browser leaves it after some days.
sub session {
	my $r = $c->run('keeper', { do => [qw(state result)] },
		{ mode => 'sync' });
	my $id = $r->{sessionId} // '';

	ok(-d "$kept/$id", 'a session has a profile') or diag explain $r;
	for my $n (1 .. FILES) {
		open(my $fh, '>', "$kept/$id/file-$n") or die "$id: $!\n";
	}
	return $id;
}

my @sessions = map { session() } 1 .. SESSIONS;
ok($program->slow(UNLINK_MS), 'each removal takes ' . UNLINK_MS . ' ms longer');
ok($c->call('session.close', { sessionId => $_ })->{success},
	'a session is closed') for @sessions;
ok(wait_until(60, sub { !grep { /^sess_/ } names($kept) }),
	'its profile has no name any more');
ok(wait_until(60, sub { removers() }), 'a process removes what was in it');
my ($remover) = removers();
my $most = 0;
for my $n (1 .. RUNS) {
	is($c->run('scripted', { do => ['result'] }, { mode => 'sync' })
	    ->{status}, 'succeeded', "run $n begins and ends");
	$most = @{ [ removers() ] } if @{ [ removers() ] } > $most;
}
cmp_ok(files(), '>', FILES, 'meanwhile most of the files are there');
is($most, 1, 'one process at a time removes');
my @fds = map { readlink } glob "/proc/$remover->{pid}/fd/*";
is(scalar(grep { $_ !~ m{^(?:/dev/|pipe:|\Q$kept\E|/.*/log)} } @fds), 0,
	'which has nothing open but the profiles') or diag "@fds";

kill 'KILL', $i->{pid};
is(left(60), '', 'it ends with the launcher');
$i->wait;
cmp_ok(files(), '>', 0, 'before all is removed');
$program->slow(0);
$i->start;
ok(wait_until(60, sub { !names($kept) }), 'the next start removes the rest');
ok(wait_until(60, sub { !removers() }), 'and the process ends');
unlike($i->log, qr/has not answered/, 'nobody hung');

# Where no process can be made it waits.
$c = client($i);
my $last = session();
ok($program->arm('clone', 1, 1), 'no process can be made');
ok($c->call('session.close', { sessionId => $last })->{success},
	'a session is closed all the same');
ok(wait_until(60, sub { $i->log =~ /cannot start profile-remover/ }),
	'its profile stays a while');
cmp_ok(files(), '>=', FILES, 'with all its files');
$program->disarm;
ok(wait_until(60, sub { !names($kept) }), 'it goes when one can be made');
is($i->stop, 0, 'stops');
is(left(60), '', 'no process is left');
done_testing();
