#!/usr/bin/perl
# mandoc has nothing to say about the manual pages.
use strict;
use warnings;
use Test::More;

my $top = $ENV{srcdir} // '.';
plan skip_all => 'mandoc is not installed'
    if system('mandoc -Tlint /dev/null >/dev/null 2>&1') == -1;
chdir "$top/man" or die "$top/man: $!";
my @pages = glob '*.[1-9]';
ok(@pages > 0, 'there are manual pages');
for my $page (@pages) {
	is(qx(mandoc -Tlint -W style $page 2>&1), '', "$page is clean");
}
done_testing();
