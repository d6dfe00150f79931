#!/usr/bin/perl
# clang-format has nothing to change.
use strict;
use warnings;
use Test::More;

my $top = $ENV{srcdir} // '.';
my $tool = $ENV{CLANG_FORMAT} || 'clang-format';
plan skip_all => 'clang-format is not installed'
    if system("$tool --version >/dev/null 2>&1") != 0;
my @files = grep { !m{/build} } glob "$top/*/*.[ch] $top/t/*/*.[ch]";
for my $file (@files) {
	my $out = qx($tool --dry-run --Werror '$file' 2>&1);
	is($out, '', "$file is formatted");
}
done_testing();
