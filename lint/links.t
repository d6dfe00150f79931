#!/usr/bin/perl
# Every built program links only what the table in lint/links allows.
use strict;
use warnings;
use Test::More;

my ($top, $build) = ($ENV{srcdir} // '.', $ENV{builddir} // '.');
my $always = qr/^(libc|libm|libbsd|libmd|ld-linux-x86-64|ld-linux-aarch64)$/;
open my $table, '<', "$top/lint/links" or die "lint/links: $!";
while (<$table>) {
	next if /^\s*(#|$)/;
	my ($program, $list) = /^(\S+):\s*(.*?)\s*$/ or die "bad line: $_";
	my %may = map { $_ => 1 } split ' ', $list;
	SKIP: {
		skip "sanitizers link more", 1 if $ENV{LINT_SANITIZED};
		my @needed = map { /NEEDED.*\[(.+?)(?:-2\.1)?\.so/ ? $1 : () }
		    qx(readelf -d '$build/$program' 2>&1);
		my @bad = grep { !/$always/ && !$may{$_} } @needed;
		ok(@needed && !@bad, "$program links only what it may")
		    or diag "links: @needed";
	}
}
done_testing();
