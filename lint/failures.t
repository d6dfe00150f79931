#!/usr/bin/perl
# What ./check prints of a part that failed is enough to understand it: of a
# test what was not as it should be, what it says to it and the log's end, and
# of all else what was said; but no more than fits.
use strict;
use warnings;
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use Test::More;

my $dir = tempdir(CLEANUP => 1);

sub put {
	my ($name, @lines) = @_;
	open(my $fh, '>', "$dir/$name") or die "$name: $!\n";
	print $fh map { "$_\n" } @lines;
	close $fh;
	return "$dir/$name";
}

sub failed {
	my ($log) = @_;
	open(my $fh, '-|', "$ENV{srcdir}/scripts/failed", 'a part', $log,
	    "$dir/*/sub") or die "scripts/failed: $!\n";
	return do { local $/; <$fh> };
}

make_path("$dir/build/sub/t/x");
put('build/sub/t/x/one.log', 'ok 1 - fine', 'PASS: t/x/one.t 1 - fine',
	'# of another', '    not ok 1 - inner', "    #   bad \e[31m byte",
	'    ok 2 - inner too', 'not ok 2 - outer', 'FAIL: t/x/one.t 2 - outer',
	"#   Failed test 'outer'", '#          got: ' . 'long' x 1000,
	'not ok 3 - to come # TODO', '#   of no interest',
	(map { "ok $_ - line" } 4 .. 200), 'died at line 7');
my $said = failed(put('tests.log', 'PASS: t/x/two 1 - error: read',
	'FAIL: t/x/one.t 2 - outer', 'ERROR: t/x/one.t - exited with status 7',
	map { "ERROR: t/x/n$_ - exited with status 1" } 1 .. 20));
my ($why) = split /^---- /m, $said;
is($why, <<"END" . '#          got: ' . substr('long' x 1000, 0, 384) . "\n",
==== a part: t/x/one.t
    not ok 1 - inner
    #   bad ?[31m byte
not ok 2 - outer
#   Failed test 'outer'
END
	'what failed, and why');
like($said, qr/^ok 200 - line\ndied at line 7$/m, 'the end of the log');
unlike($said, qr/^ok 100 - line$/m, 'and no more');
like($said, qr/^==== a part: t\/x\/n9$/m, 'ten tests');
unlike($said, qr/n10\b/, 'no more of them');
like($said, qr/and 11 tests more/, 'how many there are');
like($said, qr/cannot read \S+n9\.log: No such file/, 'a log that is missing');

$said = failed(put('build.log', (map { "  CC $_" } 1 .. 100),
	'a.c:3:1: error: no', (map { "  LD $_" } 1 .. 100), 'make: *** [a] 1'));
like($said, qr/\A==== a part\na\.c:3:1: error: no\nmake: \*\*\* \[a\] 1\n----/,
	'what a compiler found');
like($said, qr/^  LD 100$/m, 'and the end');
unlike($said, qr/^  CC 100$/m, 'no more');
done_testing;
