#!/usr/bin/perl
# tables.pl PROGRAM PAGE...: puts the tables that PROGRAM (man/tables) prints
# between the lines `.\" table NAME' and `.\" end table' of the pages.
use strict;
use warnings;

my ($program, @pages) = @ARGV;
die "usage: tables.pl program page ...\n" unless @pages;
for my $page (@pages) {
	open my $in, '<', $page or die "$page: $!\n";
	my $old = do { local $/; <$in> };
	my $new = $old;
	$new =~ s{^(\.\\" table (\S+)\n).*?^(?=\.\\" end table$)}
	    {$1 . table($2)}gmse;
	next if $new eq $old;
	open my $out, '>', $page or die "$page: $!\n";
	print $out $new;
	close $out or die "$page: $!\n";
	print "$page\n";
}

sub table {
	my ($name) = @_;
	open my $pipe, '-|', $program, $name or die "$program: $!\n";
	my $text = do { local $/; <$pipe> };
	close $pipe or die "there is no table $name\n";
	return $text;
}
