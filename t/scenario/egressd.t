#!/usr/bin/perl
# egressd is kept running: one that is killed is followed by another, which
# serves the same cells; while it does not keep running the service stays up.
use strict;
use warnings;
use Test::More;
use BrowserTask::Harness;

my $build = $ENV{builddir} // '.';

sub find {
	my ($i, $re) = @_;
	my ($p) = grep { $_->{cmd} =~ $re && $_->{state} ne 'Z' }
	    tree($i->{pid});
	return $p;
}

for my $mode (modes()) {
	my $i = BrowserTask::Harness->new(mode => $mode)->start;
	my $egressd = wait_until(60, sub { find($i, qr/^egressd: running/) });
	my $supervisord = find($i, qr/^supervisord\b/);

	ok($egressd, "$mode: egressd runs");
	is($egressd->{uid}, $supervisord->{uid} + ($mode eq 'system' ? 2 : 0),
	    'as its own user where there are such');
	my $text = do {
		open my $fh, '<', "/proc/$egressd->{pid}/status" or die;
		local $/;
		<$fh>;
	};
	like($text, qr/^NoNewPrivs:\s+1$/m, 'without new privileges');
	like($text, qr/^CapEff:\s+0+$/m, 'without capabilities');

	my %seen = ($egressd->{pid} => 1);
	for my $n (1 .. 3) {
		kill 'KILL', $egressd->{pid};
		$egressd = wait_until(60, sub {
			my $p = find($i, qr/^egressd/);
			return $p && !$seen{ $p->{pid} } ? $p : undef;
		});
		ok($egressd, "killed $n times, it is back") or last;
		$seen{ $egressd->{pid} } = 1;
	}
	is(find($i, qr/^supervisord\b/)->{pid}, $supervisord->{pid},
	    'supervisord does not end of it');
	is($i->stop, 0, 'it stops');

	# One that ends too often.
	$i = BrowserTask::Harness->new(mode => $mode,
	    programs => { egressd => '/bin/false' })->start;
	$supervisord = find($i, qr/^supervisord\b/);
	ok(wait_until(60, sub { $i->log =~ /no run has a network/ }),
	    'ended too often, it rests');
	is(find($i, qr/^supervisord\b/)->{pid}, $supervisord->{pid},
	    'supervisord does not end of it');
	my ($code) = $i->ctl('status');
	is($code, 0, 'and serves');
	is($i->stop, 0, 'it stops');
	is(left(60), '', 'nothing is left');
}
done_testing();
