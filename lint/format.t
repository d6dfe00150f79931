#!/usr/bin/perl
# clang-format has nothing to change.
use strict;
use warnings;
use Test::More;

my $top = $ENV{srcdir} // '.';
my $tool = $ENV{CLANG_FORMAT} || 'clang-format';
plan skip_all => 'clang-format is not installed'
    if system("$tool --version >/dev/null 2>&1") != 0;
my @files = grep { !m{^\Q$top\E/build} } glob "$top/*/*.[ch] $top/t/*/*.[ch]";
# To start it takes longer than to look at a file.
open(my $said, '-|', "$tool --dry-run --Werror @files 2>&1")
    or die "$tool: $!\n";
my ($about, %of) = '';
while (my $line = <$said>) {
	$about = $1 if $line =~ /^(.+?):\d+:\d+: /;
	$of{$about} .= $line;
}
close $said;
my $status = $? >> 8;
is($of{$_} // '', '', "$_ is formatted") for @files;
is($status, 0, 'and nothing else is wrong') or diag map { $of{$_} } keys %of;
done_testing();
