#!/usr/bin/perl
# Every #include "dir/file.h" obeys the table in lint/layers.
use strict;
use warnings;
use Test::More;

my $top = $ENV{srcdir} // '.';
chdir $top or die "$top: $!";
my %may;
open my $table, '<', 'lint/layers' or die "lint/layers: $!";
while (<$table>) {
	next if /^\s*(#|$)/;
	my ($dir, $list) = /^(\w+):\s*(.*?)\s*$/ or die "bad line: $_";
	$may{$dir} = { map { $_ => 1 } $dir, split ' ', $list };
}
for my $dir (sort keys %may) {
	my @bad;
	for my $file (glob "$dir/*.c $dir/*.h $dir/*.def") {
		open my $fh, '<', $file or die "$file: $!";
		while (<$fh>) {
			next unless m{^\s*#\s*include\s+"(\w+)/};
			push @bad, "$file:$. includes $1/"
			    unless $may{$dir}{$1};
		}
	}
	ok(!@bad, "$dir/ includes only what its layer may") or diag join "\n", @bad;
}
my @unknown = grep { !$may{$_} } map { m{^([^/]+)/} } glob '*/*.c';
is_deeply(\@unknown, [], 'every directory with C files is in the table');
done_testing();
