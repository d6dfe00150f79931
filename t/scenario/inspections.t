#!/usr/bin/perl
# Checks and backups that are asked for while another one goes on: each has its
# turn, in the order in which they came. Workers are scripted.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use POSIX ();
use Test::More;

use constant PLACES => 8;

# With more in its store than a socket holds.
sub instance {
	my ($mode) = @_;
	my $i = BrowserTask::Harness->new(mode => $mode, scripted => 1)->start;
	my $c = client($i);

	is($c->run('scripted', { do => [ ('big') x 4 ] }, { mode => 'sync' })
	    ->{status}, 'succeeded', "run $_") for 1 .. 4;
	return $i;
}

sub admin { return BrowserTask::Client->new($_[0]->admin_sock) }

# A copy that does not end before it is read.
sub held {
	my ($i) = @_;
	my $c = admin($i);

	ok($c->call('store.backup', {})->{accepted}, 'a copy begins');
	is(($c->event // [''])->[0], 'store.file', '... with a file');
	return $c;
}

# Reads all of a check or copy; what its last message has.
sub read_all {
	my ($c) = @_;

	while (my $note = $c->event) {
		next if $note->[0] ne 'store.done';
		return $c->closed ? $note->[1]{record} : 'left open';
	}
	return 'no end';
}

# Has this request no answer yet? One that comes after it has.
sub waits {
	my ($c, $seq) = @_;

	$c->call('profile.get');
	return !exists $c->{answers}{$seq};
}

# A client that has asked, and the number of what it asked.
sub asking {
	my ($i, $what) = @_;
	my $c = admin($i);

	return [ $c, $c->send($what // 'store.backup', {}) ];
}

# browsertaskctl in a process of its own; the sub waits for it and returns its
# status and what it said.
sub ctl_aside {
	my ($i, @args) = @_;
	my $pid = open(my $out, '-|') // die "fork: $!\n";

	if ($pid == 0) {
		my ($status, @said) = $i->ctl(@args);
		print $status >> 8, "\n", @said;
		close STDOUT;
		POSIX::_exit(0);
	}
	return sub {
		chomp(my $status = <$out> // 'none');
		return ($status, join '', <$out>);
	};
}

# Has a browsertaskctl that still runs said this?
sub says {
	my ($i, $re) = @_;

	for my $path (glob $i->dir . '/ctl.*.err') {
		open(my $in, '<', $path) or next;
		return 1 if grep { $_ =~ $re } <$in>;
	}
	return 0;
}

sub test_two_at_once {
	my ($i) = @_;
	my @both = (ctl_aside($i, 'fsck'),
		ctl_aside($i, 'backup', $i->dir . '/both'));

	is(join(' ', map { ($_->())[0] } @both), '0 0',
	    'two at once: both are done');
	# In one turn of supervisord's loop, and so in one commit.
	my ($supervisord) = grep { $_->{cmd} =~ /^supervisord: running/ }
	    tree($i->{pid});
	my @clients = map { admin($i) } 1, 2;
	kill 'STOP', $supervisord->{pid};
	my @asked = map { $_->send('store.check', {}) } @clients;
	kill 'CONT', $supervisord->{pid};
	for my $n (0, 1) {
		ok($clients[$n]->answer($asked[$n])->{accepted},
		    'of two at the same moment, number ' . ($n + 1));
		like(read_all($clients[$n]), qr/"sound":true/, '... is done');
	}
	my $copy = held($i);
	my $late = ctl_aside($i, 'fsck');
	ok(wait_until(60, sub { says($i, qr/not begun yet/) }),
	    'one that waits says so');
	like(read_all($copy), qr/"faults":0/, 'when the one before is through');
	my ($status, $said) = $late->();
	is($status, 0, '... it is done');
	like($said, qr/sound/, '... well');
}

sub test_line {
	my ($i) = @_;
	my $copy = held($i);
	my @line = map { asking($i) } 1 .. PLACES;

	is(scalar(grep { waits(@$_) } @line), PLACES, PLACES . ' wait');
	my $e = admin($i)->call('store.check', {});
	is($e->{details}{cause}, 'QUEUE_FULL', 'one more is refused');
	ok($e->{retryable}, '... for now');
	splice @line, 2, 1;
	push @line, wait_until(60, sub {
		my $next = asking($i);
		return waits(@$next) && $next;
	});
	ok($line[-1], 'one that goes away leaves its place to another');
	ok(client($i)->call('store.check', {})->{errorCode},
	    'which is for administrators');
	like(read_all($copy), qr/"faults":0/, 'the first is through');
	while (my $next = shift @line) {
		my ($c, $seq) = @$next;
		ok($c->answer($seq)->{accepted}, 'the next one begins');
		is(scalar(grep { waits(@$_) } @line), scalar @line,
		    '... and no other');
		like(read_all($c), qr/"faults":0/, '... and is through');
	}
}

sub test_drained {
	my ($i) = @_;

	is(($i->ctl('drain'))[0], 0, 'drain');
	is(($i->ctl('fsck'))[0], 0, 'a check of a drained service');
	is(($i->ctl('backup', $i->dir . '/drained'))[0], 0, '... and a backup');
	is(($i->ctl('resume'))[0], 0, 'resume');
}

# Who waits is told; what goes on goes on, and the next service knows of it.
sub test_restart {
	my ($i) = @_;
	my $copy = held($i);
	my ($c, $seq) = @{ asking($i) };

	ok(waits($c, $seq), 'one waits');
	is(($i->ctl('restart'))[0], 0, 'restart');
	my $e = $c->answer($seq);
	is($e->{details}{cause}, 'SHUTTING_DOWN', 'it is told of a restart');
	ok($e->{retryable}, '... and may come again');
	my $next = wait_until(60, sub { eval { asking($i, 'store.check') } });
	ok(waits(@$next), 'then it waits as before');
	like(read_all($copy), qr/"faults":0/, 'the copy is through');
	($c, $seq) = @$next;
	ok($c->answer($seq)->{accepted}, 'it begins');
	like(read_all($c), qr/"sound":true/, '... and is done');
}

sub test_stop {
	my ($i) = @_;
	my $copy = held($i);
	my ($c, $seq) = @{ asking($i) };

	ok(waits($c, $seq), 'one waits');
	is($i->stop, 0, 'stop');
	is($c->answer($seq)->{details}{cause}, 'SHUTTING_DOWN', 'it is told');
	ok($copy->closed, 'and nothing is read any more');
	is(left(5), '', 'nothing left');
}

each_mode(sub {
	my $i = instance($_[0]);

	test_two_at_once($i);
	test_line($i);
	test_drained($i);
	test_restart($i);
	test_stop($i);
});
done_testing();
