#!/usr/bin/perl
# What is kept how long, and how much of it, to the millisecond: supervisord is
# t/scenario/clocked, whose clock this test sets.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use Test::More;

use constant { MINUTE => 60_000, DAY => 86_400_000 };

my $build = $ENV{builddir} // die "builddir is not set\n";
my $unknown = 'art_01ARZ3NDEKTSV4RRFFQ69G5FAV';

sub instance {
	my (@settings) = @_;
	my $i = BrowserTask::Harness->new(
		programs => { workerd => "$build/t/scenario/scripted",
			supervisord => "$build/t/scenario/clocked" },
		settings => [ @settings ]);
	$i->{env} = { BROWSERTASK_TEST_CLOCK => $i->dir . '/clock' };
	open(my $fh, '>', $i->dir . '/clock') or die "clock: $!\n";
	return $i->start;
}

# From now on it is this time. In one write: supervisord reads meanwhile.
sub set_clock {
	my ($i, $ms) = @_;

	open(my $fh, '+<', $i->dir . '/clock') or die "clock: $!\n";
	syswrite $fh, sprintf '%020d', $ms;
	close $fh or die "clock: $!\n";
}

sub script {
	my ($c, $words, %options) = @_;
	return $c->run('scripted', { do => [ split ' ', $words ] }, \%options);
}

sub artifact {
	my ($c, $id) = @_;
	my $a = $c->call('artifact.get', { artifactId => $id });
	return $a->{errorCode} // 'there';
}

sub code_of {
	my ($answer) = @_;
	return $answer->{errorCode} // 'ok';
}

# Around its end of life, whatever was swept meanwhile.
subtest 'a run and its key' => sub {
	my $i = instance();
	my $c = BrowserTask::Client->new($i->client_sock);
	my $r = script($c, 'item', mode => 'sync', idempotencyKey => 'k');
	my $run = { runId => $r->{runId} };
	my $end = $r->{endedAt} + $c->call('profile.get')->{runTtlMs};

	is($end, $r->{endedAt} + 30 * MINUTE, '30 minutes after its end');
	set_clock($i, $end - 1);
	is(code_of($c->call('run.get', $run)), 'ok', 'T-1: there');
	my $again = script($c, 'bad', mode => 'async', idempotencyKey => 'k');
	is_deeply([ @$again{qw(runId deduplicated paramsMismatch)} ],
		[ $r->{runId}, $BrowserTask::Client::true,
		$BrowserTask::Client::true ], 'T-1: its key holds');
	is(code_of($c->call('run.cancel', $run)), 'ok', 'T-1: cancel');
	for my $at (0, 1) {
		set_clock($i, $end + $at);
		is(code_of($c->call($_, $run)), 'RUN_NOT_FOUND', "T+$at: $_")
		    for qw(run.get run.cancel run.events run.follow
		    artifact.list);
	}
	$again = script($c, 'item', mode => 'sync', idempotencyKey => 'k');
	isnt($again->{runId}, $r->{runId}, 'the key is free');
	ok(!$again->{deduplicated}, 'for a new run');
	is(artifact($c, $r->{artifactIds}[0]), 'there',
		'its artifacts live longer');
	ok(wait_until(60, sub { $c->call('run.list')->{total} == 1 }),
		'it is swept when something else ends');
	$i->stop;
};

subtest 'an artifact and its tombstone' => sub {
	my $i = instance();
	my $c = BrowserTask::Client->new($i->client_sock);
	my $r = script($c, 'item', mode => 'sync');
	my $id = $r->{artifactIds}[0];
	my $list = sub { (grep { $_->{artifactId} eq $id } @{ $c->call(
		'artifact.list', { runId => $r->{runId} })->{artifacts} })[0] };
	my $end = $r->{endedAt} + DAY;
	my $sweep = sub {
		my $n = () = $i->log =~ /sweep:/g;
		script($c, 'item', mode => 'sync');
		wait_until(60, sub { (() = $i->log =~ /sweep:/g) > $n });
	};

	is($list->()->{expiresAt}, $end, '24 hours after the end of its run');
	set_clock($i, $end - 1);
	is(artifact($c, $id), 'there', 'T-1: there');
	is(artifact($c, $unknown), 'ARTIFACT_NOT_FOUND', 'another is unknown');
	for my $at (0, 1) {
		set_clock($i, $end + $at);
		is(artifact($c, $id), 'ARTIFACT_EXPIRED', "T+$at: expired");
	}
	$sweep->();
	is(artifact($c, $id), 'ARTIFACT_EXPIRED', 'a tombstone is left');
	my $gone = $end + 1 + $c->call('profile.get')->{tombstoneTtlMs};
	is($gone, $end + 1 + 7 * DAY, 'for seven days');
	set_clock($i, $gone - 1);
	is(artifact($c, $id), 'ARTIFACT_EXPIRED', 'T-1: still');
	for my $at (0, 1) {
		set_clock($i, $gone + $at);
		is(artifact($c, $id), 'ARTIFACT_NOT_FOUND', "T+$at: gone");
	}
	$i->stop;
};

subtest 'the budget of artifacts' => sub {
	my $i = instance('artifactMaxBytes=2000000');
	my $c = BrowserTask::Client->new($i->client_sock);
	my @runs;
	my $held = sub { $c->call('profile.get')->{artifactBytes} };

	is($held->(), 0, 'nothing is held');
	is($c->call('profile.get')->{artifactMaxBytes}, 2000000,
		'what may be');
	push @runs, script($c, 'item', mode => 'sync');
	my $small = $held->();
	cmp_ok($small, '>', 0, "a run holds $small bytes");
	push @runs, script($c, 'big big big', mode => 'sync');
	my $big = $held->() - $small;
	note "another $big";
	push @runs, script($c, 'big big big', mode => 'sync')
	    while $small + $big * (@runs - 1) <= 2000000;
	ok(wait_until(60, sub { $held->() <= 2000000 }), 'never more for long');
	my @first = map { artifact($c, $_->{artifactIds}[0]) } @runs;
	is($first[0], 'ARTIFACT_EXPIRED', 'the oldest has expired early');
	is($first[-1], 'there', 'the newest is there');
	my ($text) = join ' ', map { $_ eq 'there' ? 1 : 0 } @first;
	like($text, qr/^(0 )+(1 ?)+$/, "oldest first: $text");
	my $r = $c->call('run.get', { runId => $runs[0]{runId},
		include => 'output' });
	is($r->{result}{summary}{succeeded}, 1, 'its run keeps its result');
	is(scalar keys %{ $r->{output} }, 11, 'and has an output');
	ok($i->log =~ /before their time.*artifactMaxBytes/,
		'the log says why');
	my $before = $held->();
	$i->stop;
	$i->start;
	$c = BrowserTask::Client->new($i->client_sock);
	is($held->(), $before, 'the number outlives a start');
	$i->stop;
};

is(left(60), '', 'no process is left');
done_testing();
