#!/usr/bin/perl
# The promises in CONTRIBUTING.md: each is there once, and each test that is
# said to try it is one that make check or make check-full runs.
use strict;
use warnings;
use Test::More;

my $src = $ENV{srcdir} || '.';

sub slurp {
	my ($path) = @_;
	open(my $fh, '<', $path) or return undef;
	local $/;
	return <$fh>;
}

my %runs;
for my $path (glob "$src/*/local.mk $src/t/*/local.mk") {
	my $text = slurp($path);
	$text =~ s/\\\n//g;
	my %list = $text =~ /^(\w+_TESTS) = (.*)/mg;
	$text =~ s/^TESTS \+= \$\((\w+)\)/TESTS += $list{$1}/mg;
	while ($text =~ /^\s*TESTS \+= (.*)/mg) {
		$runs{$_} = 1 for split ' ', $1;
	}
	$runs{$_} = 1 for split ' ', $list{FULL_TESTS} // '';
}

my @promises;
for (split /\n/, slurp("$src/CONTRIBUTING.md")) {
	my ($name, $tests) = /^\| (P\d+) \|[^|]+\| (.*) \|$/ or next;
	my @missing = grep { !$runs{$_}
	    || !-f (/\.t$/ ? "$src/$_" : m{^t/fuzz/(\w+)_replay$}
		? "$src/t/fuzz/fuzz_$1.c" : "$src/$_.c") } split ' ', $tests;
	push @promises, $name;
	is("@missing", '', "$name: " . split(' ', $tests) . ' tests');
}
is("@promises", join(' ', map { "P$_" } 1 .. 21), 'each has a row');
done_testing();
