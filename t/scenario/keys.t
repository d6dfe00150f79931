#!/usr/bin/perl
# One run per key: clients that submit the same keys at the same time, lose
# answers and ask again, while supervisord crashes around its commits; and the
# ends of a key's life, to the millisecond, with a crash in between.
#
# SEED repeats a sequence.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Points;
use BrowserTask::Size qw(figure seeded sized);
use List::Util qw(shuffle);
use POSIX qw(:sys_wait_h);
use Test::More;
use Time::HiRes qw(sleep time);

use constant CLIENTS => 16;

my $keys = sized('keys, each of ' . CLIENTS . ' clients', 100, 1000);
my $seed = seeded();
my @points = qw(commit_begun commit_filled commit_written commit_told_one
    commit_told submit_written submit_answered answer_due answer_sent);

sub instance {
	my (@settings) = @_;
	return crashing(settings => ['maxQueuedRuns=2000', @settings ]);
}

sub client {
	my ($i) = @_;
	return wait_until(60, sub { eval {
		BrowserTask::Client->new($i->client_sock) } });
}

sub submission {
	my ($key) = @_;
	return { templateId => 'scripted', inputs => { do => ['item'] },
		options => { mode => 'async', idempotencyKey => $key } };
}

# One client: asks until it has an answer to each; some it does not wait for.
sub ask_all {
	my ($i, $n, $out) = @_;
	srand $seed + $n;
	my $c = client($i);

	for my $key (shuffle(1 .. $keys)) {
		my $lost = 0;
		for (;;) {
			my $a = eval {
				my $seq = $c->send('run.submit',
					submission("key $key"));
				die "not waited for\n" if rand() < 0.1;
				$c->answer($seq);
			};
			last if $a && print $out join(' ', $key,
				$a->{runId} // 'none', $lost,
				$a->{deduplicated} ? 'known' : 'new',
				$a->{errorCode} // ''), "\n";
			$lost++;
			$c = client($i) // return 1;
		}
	}
	return 0;
}

sub start_clients {
	my ($i) = @_;
	my %running;

	for my $n (1 .. CLIENTS) {
		my $pid = fork() // die "fork: $!\n";
		if ($pid == 0) {
			open(my $out, '>', $i->dir . "/client$n")
			    or POSIX::_exit(1);
			my $status = ask_all($i, $n, $out);
			close $out;
			POSIX::_exit($status);
		}
		$running{$pid} = 1;
	}
	return \%running;
}

sub all_at_once {
	my $i = instance('runTtlMs=86400000');
	my ($crashes, $failed, %run, %new, @wrong) = (0, 0);
	my ($answers, $lost) = (0, 0);

	client($i)->call('service.drain', {});
	my $running = start_clients($i);
	while (%$running) {
		if (-z $i->dir . '/crash') {
			put($i, 'crash', $points[rand @points] . ':'
			    . (1 + int rand 8));
			$crashes++;
		}
		for my $pid (keys %$running) {
			next if waitpid($pid, WNOHANG) != $pid;
			$failed++ if $?;
			delete $running->{$pid};
		}
		sleep 0.002;
	}
	put($i, 'crash', '');
	is($failed, 0, 'every client has an answer to each of its keys');
	for my $n (1 .. CLIENTS) {
		open(my $in, '<', $i->dir . "/client$n") or die "client: $!\n";
		while (<$in>) {
			my ($key, $id, $times, $how, $error) = split ' ';
			$answers++;
			$lost += $times;
			$new{$key}++ if $how eq 'new';
			push @wrong, "key $key: $error" if length($error // '');
			push @wrong, "key $key: $id and $run{$key}"
			    if ($run{$key} //= $id) ne $id;
		}
	}
	is_deeply(\@wrong, [], 'all answers to a key name one run');
	is_deeply([ grep { $new{$_} > 1 } keys %new ], [],
		'at most one of them says that it is new');
	is($answers, CLIENTS * $keys, 'all have answered');
	figure('%d crashes, %d answers lost and asked for again', $crashes,
	    $lost);
	my $c = client($i);
	is($c->call('run.list', { limit => 1 })->{total}, $keys,
		"$keys keys, $keys runs");
	$c->call('service.resume', {});
	my $done = wait_until(120 + $keys, sub {
		$c->call('run.list', { limit => 1, status => 'succeeded' })
		    ->{total} == $keys;
	});
	ok($done, 'and each is executed') or diag $i->log;
	my @again = grep { my $a = $c->call('run.submit', submission("key $_"));
		$a->{runId} ne $run{$_} || $a->{attempt} != 1 } 1 .. $keys;
	is("@again", '', 'once');
	is($i->stop, 0, 'it stops');
}

# All at the same time, and again those that have no answer.
sub ids {
	my ($i, $key) = @_;
	my @todo = (1) x CLIENTS;
	my %ids;

	for (1 .. 5) {
		my @c = map { client($i) } @todo;
		my @seq = map { scalar eval { $_->send('run.submit',
			submission($key)) } } @c;
		my @lost;
		for my $n (0 .. $#c) {
			my $a = defined $seq[$n]
			    && eval { $c[$n]->answer($seq[$n]) };
			push @lost, 1 if !$a;
			$ids{ $a->{runId} // $a->{message} }++ if $a;
		}
		@todo = @lost or last;
	}
	return %ids;
}

sub ends {
	my $i = instance();

	for my $at (-1, 0, 1) {
		my $key = "end $at";
		my $c = client($i);
		my $r = $c->call('run.submit', { %{ submission($key) },
			options => { mode => 'sync',
				idempotencyKey => $key } });
		my $end = $r->{endedAt} + $c->call('profile.get')->{runTtlMs};
		put($i, 'clock', sprintf '%020d', $end + $at);
		for my $point (qw(answer_due commit_filled commit_written)) {
			# Known ones are told without a commit.
			my $crash = $point eq 'answer_due' || $at >= 0;
			put($i, 'crash', "$point:1") if $crash;
			my %ids = ids($i, $key);
			is(scalar keys %ids, 1, "T$at, $point: one run");
			my $same = ($ids{ $r->{runId} } // 0) > 0;
			ok($at < 0 ? $same : !$same, "T$at: "
			    . ($at < 0 ? 'the old one' : 'a new one'))
			    or diag explain(\%ids);
			put($i, 'crash', '');
		}
	}
	is($i->stop, 0, 'it stops');
}

beside('all at once' => \&all_at_once, 'ends of keys' => \&ends);
done_testing();
