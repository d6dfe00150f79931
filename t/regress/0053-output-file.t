#!/usr/bin/perl
# browsertaskctl -o wrote to FILE.part, whatever that was: in a directory for
# all, a link that somebody else had made there. What it wrote could be read by
# everybody. ctl.t writes to directories of its own.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use File::Temp qw(tempdir);
use Test::More;

my $dir = tempdir(CLEANUP => 1);
my $i = BrowserTask::Harness->new(mode => (modes())[0])->start;
my $site = BrowserTask::Scenario::Site->new;
my $r = batch(client($i), [ $site->url('/article') ], { mode => 'sync' });
is($r->{status}, 'succeeded', 'a run') or diag explain $r;

sub put {
	my ($path, $text) = @_;
	open(my $fh, '>', $path) or die "$path: $!\n";
	print $fh $text;
	close $fh;
}

sub slurp { return BrowserTask::Harness::slurp(@_) // '(nothing)' }

umask 022;
put("$dir/victim", 'precious');
symlink "$dir/victim", "$dir/out.part" or die "symlink: $!\n";
symlink "$dir/victim", "$dir/link" or die "symlink: $!\n";
for my $to (qw(out link)) {
	my ($status, undef, $err) = $i->ctl('result', $r->{runId}, '-o',
		"$dir/$to");
	is($status, 0, "$to: is written") or diag $err;
	is(slurp("$dir/victim"), 'precious', "$to: no link is written through");
	ok(!-l "$dir/$to", "$to: is a file of its own");
	like(slurp("$dir/$to"), qr/"items"/, "$to: with the result");
	is((stat "$dir/$to")[2] & 07777, 0600, "$to: for its owner only");
}
is_deeply([ sort map { s{.*/}{}r } glob "$dir/*" ],
	[ sort qw(link out out.part victim) ], 'nothing else is left');
my ($status, $out) = $i->ctl('result', $r->{runId}, '-o', '/dev/stdout');
is($status, 0, 'a device is written to');
like($out, qr/"items"/, 'as it is');
is($i->stop, 0, 'stops');
$site->stop;
done_testing();
