#!/usr/bin/perl
# The units are what systemd understands, and what it thinks of them. They are checked with the programs of
# the build directory, since nothing needs to be installed for a test.
use strict;
use warnings;

use File::Path qw(make_path);
use File::Temp qw(tempdir);
use Test::More;

my ($built, %unit) = ($ENV{builddir},
	system => 'systemd/browsertaskd.service',
	user => 'systemd/user/browsertaskd.service');

plan skip_all => 'systemd-analyze is not installed'
    if system('command -v systemd-analyze >/dev/null') != 0;

my $dir = tempdir(CLEANUP => 1);
$ENV{XDG_RUNTIME_DIR} //= $dir;
for my $who (sort keys %unit) {
	open my $in, '<', "$built/$unit{$who}" or die "$unit{$who}: $!\n";
	my $text = do { local $/; <$in> };
	unlike($text, qr/\@\w+\@/, "$who: every directory is filled in");
	$text =~ s{^(Exec\w+=)/\S*/browsertaskd}
	    {$1$built/launcher/browsertaskd}mg;
	make_path("$dir/$who");
	my $file = "$dir/$who/browsertaskd.service";
	open my $out, '>', $file or die "$file: $!\n";
	print $out $text;
	close $out;
	my $said = qx{systemd-analyze --$who --man=no verify $file 2>&1};
	my @ours = grep { /browsertaskd/ } split /^/, $said;
	is_deeply([ $? >> 8, @ours ], [0], "$who: systemd-analyze verify")
	    or diag $said;
}
for my $who (qw(client admin)) {
	open my $in, '<', "$built/systemd/browsertaskd-$who.socket"
	    or die "$who: $!\n";
	my $text = do { local $/; <$in> };
	my $file = "$dir/system/browsertaskd-$who.socket";
	open my $out, '>', $file or die "$file: $!\n";
	print $out $text;
	close $out;
	unlike($text, qr/\@\w+\@/, "$who socket: every directory is filled in");
	my $said = qx{systemd-analyze --man=no verify $file 2>&1};
	my @ours = grep { /browsertaskd/ } split /^/, $said;
	is_deeply([ $? >> 8, @ours ], [0], "$who socket: systemd-analyze verify")
	    or diag $said;
}
# What the launcher needs to make compartments is worth some four points; a user's
# manager cannot take away more than it does.
for (['system', 4.5], ['user', 7.5]) {
	my ($who, $bound) = @$_;
	my $said = qx{systemd-analyze security --offline=yes --no-pager $dir/$who/browsertaskd.service 2>&1};
	my ($score) = $said =~ /exposure level for \S+: ([\d.]+)/;
	cmp_ok($score // 10, '<=', $bound, "$who: systemd-analyze security: "
	    . ($score // $said));
}
done_testing;
