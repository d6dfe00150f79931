#!/usr/bin/perl
# What one user could take without a limit: memory of requests that never come
# to their end, requests that wait, inputs of runs, the places of runs with
# secrets, and the audit log.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

plan skip_all => 'only root can be several users' if $> != 0;

use constant { ANN => 65501, BEN => 65502, MIB => 1 << 20, WAITING => 100,
	HALF => 60, CANCELED => 80, INPUT_MIB => 1.5 };

my $i = BrowserTask::Harness->new(scripted => 1, settings => [
	'clientGroup=65534', 'maxRequestBytesPerUid=' . 16 * MIB,
	'maxWaitingPerUid=' . WAITING, 'maxInputBytesPerUid=' . 16 * MIB,
	'silentMs=600000', 'warmCells=0' ])->start;
my $root = client($i);
my $pid = $root->call('profile.get')->{pid};

sub anonymous_kib {
	return BrowserTask::Harness::slurp("/proc/$pid/status") =~ /^RssAnon:\s+(\d+)/m ? $1 : 0;
}

sub hang {
	my ($c, $mib) = @_;
	return $c->run('scripted', { do => [qw(item hold)],
		note => 'x' x ($mib * MIB) }, { mode => 'async' });
}

sub refused {
	my ($answer, $setting, $name) = @_;
	error_is($answer, 'EXECUTION_ERROR', 'USER_LIMIT', $name);
	like($answer->{message}, qr/^uid 65501 would .*, a user may have \d+ \(/,
		"$name, in words");
	like($answer->{message}, qr/ \(the setting $setting\)$/,
		"$name, with the setting");
	like($answer->{recoverHint}, qr/^Wait until earlier/, "$name, with advice");
}

sub share {
	my ($c, $setting) = @_;
	return $c->call('profile.get')->{shares}{$setting};
}

subtest 'requests that are not complete' => sub {
	my $body = pack('CCC', 0x94, 0, 9)
	    . BrowserTask::Client::pack_str('run.submit');
	my $before = anonymous_kib();
	my @half = map { client_of($i, ANN) } 1 .. HALF;

	local $SIG{PIPE} = 'IGNORE';
	for my $c (@half) {
		$c->{sock}->blocking(0);
		my $bytes = pack('N', 2 * MIB) . $body . 'x' x MIB;
		my $end = time + 20;
		while (length $bytes && time < $end) {
			my $bits = '';
			vec($bits, fileno $c->{sock}, 1) = 1;
			select undef, $bits, undef, 1;
			my $n = syswrite $c->{sock}, $bytes, 65536;
			last if !defined $n && !$!{EAGAIN};
			substr $bytes, 0, $n // 0, '';
		}
		$c->{sock}->blocking(1);
	}
	my @no = grep { $_->{answers}{9} }
	    map { $_->receive(0.1); $_ } @half;
	cmp_ok(@no, '>=', HALF / 2, 'are refused beyond the limit');
	refused($no[0]{answers}{9}, 'maxRequestBytesPerUid', 'the answer');
	ok($no[0]->closed(60), 'the connection is closed');
	SKIP: {
		skip 'a sanitizer keeps what was freed for a while', 1
		    if (BrowserTask::Harness::slurp(
			"$ENV{builddir}/config.status") // '') =~ /-fsanitize=/;
		cmp_ok(anonymous_kib() - $before, '<', 24 << 10,
			'memory has a bound');
	}
	ok(hang(client_of($i, BEN), INPUT_MIB)->{runId}, 'another user submits');
	ok(hang($root, INPUT_MIB)->{runId}, 'root does');
	is(share($root, 'maxRequestBytesPerUid')->{limit}, undef,
		'root has no limit');
	undef @half;
	undef @no;
	ok(wait_until(60, sub { share(client_of($i, ANN),
		'maxRequestBytesPerUid')->{used} < MIB }), 'it is given back');
};

subtest 'requests that wait' => sub {
	my ($ann, $ben) = map { client_of($i, $_) } ANN, BEN;
	my %poll = (afterSeq => 1000, timeoutMs => 60000);
	my %run = map { $_->[0] => hang($_->[1], 0)->{runId} }
	    [ ann => $ann ], [ ben => $ben ], [ root => $root ];

	$ann->send('run.events', { runId => $run{ann}, %poll }) for 1 .. WAITING;
	refused($ann->call('run.events', { runId => $run{ann}, %poll }),
		'maxWaitingPerUid', 'one more');
	refused(client_of($i, ANN)->call('run.events',
		{ runId => $run{ann}, %poll }), 'maxWaitingPerUid',
		'on another connection');
	my $answered = $ann->call('profile.get')->{shares}{maxWaitingPerUid};
	is_deeply($answered, { used => WAITING, limit => WAITING },
		'which profile.get shows');
	ok($ben->call('run.cancel', { runId => $run{ben} })->{success},
		'others may wait');
	my $other = client($i);
	$other->send('run.events', { runId => $run{root}, %poll })
	    for 1 .. WAITING;
	like($other->call('run.events', { runId => $run{root}, %poll })->{message},
		qr/maxWaitingPerUid/, 'also root, on one connection');
	ok($root->call('run.cancel', { runId => $run{root} })->{success},
		'not on another');
	undef $ann;
	ok(wait_until(60, sub { !share(client_of($i, ANN),
		'maxWaitingPerUid')->{used} }), 'whose connection ends gives up');
	ok(client_of($i, ANN)->call('run.cancel', { runId => $run{ann} })
		->{success}, 'and may wait again');
};

subtest 'inputs' => sub {
	my $ann = client_of($i, ANN);
	client($i)->call('service.drain');
	my @runs = map { hang($ann, INPUT_MIB) } 1 .. 11;
	my @kept = map { $_->{runId} // () } @runs;

	is(@kept, 10, 'are kept up to the limit');
	refused($runs[-1], 'maxInputBytesPerUid', 'one more');
	ok(hang(client_of($i, BEN), INPUT_MIB)->{runId}, 'another user submits');
	ok($ann->call('run.cancel', { runId => pop @kept })->{success}, 'an end');
	push @kept, hang($ann, INPUT_MIB)->{runId};
	ok($kept[-1], 'makes room');
	kill 'KILL', $pid;
	ok(wait_until(60, sub { my $now = eval {
		client($i)->call('profile.get')->{pid} } // $pid;
		$now != $pid and $pid = $now }), 'a restart');
	$ann = client_of($i, ANN);
	refused(hang($ann, INPUT_MIB), 'maxInputBytesPerUid',
		'after a restart, too');
	$ann->call('run.cancel', { runId => $_ }) for @kept;
	for (1 .. CANCELED) {
		my $run = hang($ann, INPUT_MIB)->{runId};
		$ann->call('run.cancel', { runId => $run });
	}
	my $stored = client($i)->call('profile.get')->{storeBytes};
	cmp_ok($stored, '<', 80 * MIB,
		'inputs of runs that have ended are not kept');
	is(share($ann, 'maxInputBytesPerUid')->{used}, 0, 'nor counted');
};
is($i->stop, 0, 'stops');

subtest 'rows of the audit log' => sub {
	my $few = BrowserTask::Harness->new(scripted => 1, settings => [
		'clientGroup=65534', 'maxAuditRowsPerUid=100', 'warmCells=0',
		'silentMs=600000' ])->start;
	my ($ann, $ben) = map { client_of($few, $_) } ANN, BEN;

	client($few)->call('service.drain');
	for (1 .. 50) {
		my $run = hang($ann, 0)->{runId} or last;
		$ann->call('run.cancel', { runId => $run });
	}
	undef $ann;
	$ann = client_of($few, ANN);
	refused(hang($ann, 0), 'maxAuditRowsPerUid', 'one more');
	ok(hang($ben, 0)->{runId}, 'another user submits');
	is($few->stop, 0, 'stops');
};

subtest 'runs with secrets' => sub {
	my $real = BrowserTask::Harness->new(settings => [ 'clientGroup=65534',
		'maxSecretRunsPerUid=2', 'warmCells=0' ])->start;
	my ($ann, $ben) = map { client_of($real, $_) } ANN, BEN;
	my $login = sub {
		return $_[0]->run('login_keep_session', {
			startUrl => 'http://127.0.0.1:1/', credentials =>
			    { username => 'a', password => 'b' } },
			{ mode => 'async' });
	};

	client($real)->call('service.drain');
	my @runs = map { $login->($ann) } 1 .. 3;
	is((grep { $_->{runId} } @runs), 2, 'two at once');
	refused($runs[2], 'maxSecretRunsPerUid', 'one more');
	ok($login->($ben)->{runId}, 'another user may log in');
	$ann->call('run.cancel', { runId => $runs[0]{runId} });
	ok($login->($ann)->{runId}, 'a place that is free is taken');
	is($real->stop, 0, 'stops');
};
done_testing();
