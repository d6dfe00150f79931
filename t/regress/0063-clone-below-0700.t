#!/usr/bin/perl
# In a clone that only root can read, such as one below /root, the parts of
# ./check that run as an ordinary user failed: they could not read the build.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;

plan skip_all => 'only root has what others cannot read' if $> != 0;

my $srcdir = $ENV{srcdir} // '.';
my $hidden = tempdir(CLEANUP => 1);
my $open = tempdir(CLEANUP => 1);
chmod 0755, $open;

# A tree whose check says where it is and who can read it.
sub tree {
	my ($dir) = @_;
	my $top = "$dir/tree";

	mkdir $_ or die "$_: $!\n" for $top, "$top/scripts", "$top/build",
	    "$dir/shared", "$dir/shared/vectors";
	system('cp', "$srcdir/scripts/setup.sh", "$top/scripts/") == 0 or die;
	for (['build/old', ''], ['../shared/vectors/one', ''], [check => <<'END']) {
#!/bin/sh
set -u
top=$(cd "$(dirname "$0")" && pwd)
. "$top/scripts/setup.sh"
elsewhere_if_hidden "$@"
echo "at $top with $1"
all_reach "$top/check" && echo reached
all_reach "$top/../shared/vectors/one" && echo vectors
[ -e "$top/build/old" ] && echo built
mkdir -p "$top/build/log" && echo said >"$top/build/log/part.log"
exit 7
END
		open(my $fh, '>', "$top/$_->[0]") or die "$_->[0]: $!\n";
		print {$fh} $_->[1];
		close $fh;
	}
	chmod 0755, "$top/check";
	return $top;
}

sub check {
	my ($top) = @_;
	my $out = qx(TMPDIR='$hidden' '$top/check' word 2>&1);
	return ($? >> 8, $out);
}

my $top = tree($hidden);
my ($code, $out) = check($top);
like($out, qr/^check: no ordinary user can read \Q$top\E: a copy is used/,
    'it says so');
my ($copy) = $out =~ /^at (\S+) with word$/m;
isnt($copy, $top, 'another tree is checked');
like($out, qr/^reached$/m, 'which an ordinary user can read');
like($out, qr/^vectors$/m, 'with the test vectors');
unlike($out, qr/^built$/m, 'without what was built');
is($code, 7, 'its outcome is told');
ok(-s "$top/build/log/part.log", 'its logs are brought back');
ok(!-e $copy, 'nothing is left of it');

$top = tree($open);
($code, $out) = check($top);
like($out, qr/^at \Q$top\E with word$/m, 'a tree that all can read stays');
unlike($out, qr/copy/, '... and nothing is said');
is($code, 7, '... its outcome is told');
done_testing();
