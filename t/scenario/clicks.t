#!/usr/bin/perl
# At most one execution of each action: runs click through pages, each click is
# something that a server counts, and meanwhile workers, browsers, cells,
# supervisord and the launcher are killed at random moments and clients ask again
# for what they got no answer to. No click is counted twice, none is told as done
# that was not, and what succeeded has clicked each. The real browser.
#
# SEED repeats a sequence.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure seeded sized);
use File::Temp qw(tempdir);
use IO::Socket::INET;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);

use constant { CLICKS => 8, AT_ONCE => 3 };

my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);

my $build = $ENV{builddir} // die "builddir is not set\n";
my $kills = sized('kills while ' . AT_ONCE . ' runs click', 6, 100);
seeded();
my $dir = tempdir('bt-clicks-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my @kinds = qw(worker supervisord browser supervisord cell launcher);

# ---- the site: what is posted is done, and counted in a file ----

# The page of click $k; every other one sends a form, the rest a script.
sub page {
	my ($run, $k) = @_;
	my $did = "/did?run=$run&amp;k=$k";
	my $button = $k % 2 ? "<form method=post action='$did'>"
	    . "<button id=go$k>Go</button></form>"
	    : "<button id=go$k onclick=\"this.disabled = true;"
	    . " fetch('$did', {method: 'POST'}).then(() => location.replace("
	    . "'/page?run=$run&amp;k=@{[$k + 1]}'))\">Go</button>";

	return "<!DOCTYPE html><title>$k</title>" . ($k > CLICKS
	    ? "<p id=go$k>done</p>" : $button);
}

sub answer {
	my ($c) = @_;
	my $head = '';

	while ($head !~ /\r\n\r\n/) {
		sysread($c, $head, 65536, length $head) or return;
	}
	my ($method, $path, $run, $k) =
	    $head =~ m{^(\w+) /(\w+)\?run=(\w+)&k=(\d+) } or return;
	if ($path eq 'did') {
		return if $method ne 'POST';
		open(my $fh, '>>', "$dir/counted") or return;
		syswrite $fh, "$run $k\n";
		$k++;
	}
	my $body = page($run, $k);
	syswrite $c, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	    . 'Content-Length: ' . length($body)
	    . "\r\nConnection: close\r\n\r\n$body";
}

sub serve {
	my ($listen) = @_;

	# Browsers open connections and say nothing.
	local $SIG{CHLD} = 'IGNORE';
	local $SIG{PIPE} = 'IGNORE';
	while (my $c = $listen->accept) {
		my $pid = fork() // next;
		next if $pid;
		answer($c);
		POSIX::_exit(0);
	}
}

my $listen = IO::Socket::INET->new(Listen => 64, LocalAddr => '127.0.0.1')
    or die "listen: $!\n";
my $base = 'http://127.0.0.1:' . $listen->sockport;
my $site = fork() // die "fork: $!\n";
if ($site == 0) {
	serve($listen);
	POSIX::_exit(0);
}

# run => click => how often it was counted.
sub counted {
	my %n;

	open(my $fh, '<', "$dir/counted") or return;
	while (<$fh>) {
		my ($run, $k) = split;
		$n{$run}{$k}++;
	}
	return %n;
}

# ---- clients that ask until they have an answer ----

my $i = BrowserTask::Harness->new(launcher => "$build/t/scenario/undamped",
	programs => { workerd => "$build/t/scenario/clickworker" },
	settings => [ 'maxConcurrentRuns=' . AT_ONCE ])->start;

sub call {
	my ($method, $params) = @_;
	my $answer;

	wait_until(60, sub {
		$answer = eval { BrowserTask::Client->new($i->client_sock)
		    ->call($method, $params) };
		return ref $answer eq 'HASH';
	});
	return $answer;
}

sub submit {
	my ($key) = @_;
	return call('run.submit', { templateId => 'clicker', inputs => {
		url => "$base/page?run=$key&k=1", clicks => CLICKS },
		options => { mode => 'async', idempotencyKey => $key,
		    timeoutMs => 120000 } });
}

sub end_of {
	my ($run) = @_;
	my $r;

	wait_until(180, sub {
		$r = call('run.get', { runId => $run,
			include => 'output' });
		return ($r->{status} // '') =~
		    /^(?:succeeded|failed|canceled|partial_success)$/;
	});
	return $r;
}

sub victim {
	my ($kind, $run) = @_;

	return $i->{pid} if $kind eq 'launcher';
	if ($kind eq 'supervisord') {
		my ($p) = grep { $_->{cmd} =~ /^supervisord\b/ } tree($i->{pid});
		return $p->{pid};
	}
	my %parts = parts($i, $run);
	return $parts{$kind}[0];
}

# Kills one while the runs click; what they came to.
sub round {
	my ($n, $kind) = @_;
	my @keys = map { "r${n}x$_" } 1 .. AT_ONCE;
	my %run = map { $_ => submit($_)->{runId} } @keys;
	my $from = int rand(CLICKS - 1);

	wait_until(60, sub {
		my %n = counted();
		return keys %{ $n{ $keys[0] } // {} } >= $from;
	});
	sleep rand 0.3;
	my $pid = victim($kind, $run{ $keys[0] });
	my $killed = $pid && kill 'KILL', $pid;
	if ($kind eq 'launcher') {
		$i->wait(20);
		left(20, $site);
		$i->start;
	}
	# Asked again, as by one that got no answer.
	my @again = grep { submit($_)->{runId} ne $run{$_} } @keys;
	return ($killed, \@again, map { $_ => end_of($run{$_}) } @keys);
}

my ($clicks, $killed, $anew, %ended) = (0, 0, 0);
my (@twice, @untrue, @again);
for my $n (1 .. $kills) {
	my ($was, $again, %r) = round($n, $kinds[ $n % @kinds ]);
	$killed++ if $was;
	push @again, @$again;
	my %n = counted();
	for my $key (sort keys %r) {
		my $r = $r{$key};
		my %mine = %{ $n{$key} // {} };
		my $done = grep { $_->{ok} && $_->{name} eq 'click' }
		    @{ $r->{output}{steps} // [] };
		$ended{ $r->{status} }++;
		$clicks += keys %mine;
		push @twice, map { "$key: click $_, $mine{$_} times" }
		    grep { $mine{$_} > 1 } keys %mine;
		# One that had not begun to act may.
		$anew++ if $r->{attempt} != 1;
		push @untrue, "$key: $done told, " . keys(%mine) . ' counted'
		    if $done > keys %mine || ($r->{status} eq 'succeeded'
		    && ($done != CLICKS || keys %mine != CLICKS));
	}
}
figure('%d kills in %d runs, of which %s, %d at a second attempt: %d clicks,'
    . ' %d of them twice', $killed, $kills * AT_ONCE,
    join(', ', map { "$ended{$_} $_" } sort keys %ended), $anew, $clicks,
    scalar @twice);
is_deeply(\@twice, [], 'no click is counted twice');
is_deeply(\@untrue, [], 'what is told as done was, once')
    or diag $i->log;
is_deeply(\@again, [], 'whoever asks again gets the same run');
is_deeply([ grep { !/^(?:succeeded|failed)$/ } keys %ended ], [],
	'each succeeds or fails');
cmp_ok($ended{succeeded} // 0, '>=', $kills, 'at least those succeed that the '
	. 'kill did not hit');
is($i->stop, 0, 'stops');
is(left(5, $site), '', 'nothing is left');
kill 'KILL', $site;
waitpid $site, 0;
done_testing();
