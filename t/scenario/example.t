#!/usr/bin/perl
# The example of browsertask-templates(7), run as it stands there, with the
# real browser and the demo site; workerdrive plays the rest.
use strict;
use warnings;
use BrowserTask::Scenario;
use File::Temp qw(tempdir);
use JSON::PP;
use Test::More;

my $build = $ENV{builddir} // die "builddir is not set\n";
my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
my ($browser) = grep { -x } map { "$chromium/$_" }
    qw(chromium-headless-shell chromium);
plan skip_all => 'no Chromium is installed' unless defined $browser;

my $dir = tempdir(CLEANUP => 1);
my $json = JSON::PP->new->utf8;

# What the worker said: lines by their first word.
sub drive {
	my ($inputs, @args) = @_;
	my %said;

	open(my $in, '>', "$dir/inputs") or die "inputs: $!\n";
	print $in $inputs;
	close $in;
	my $pid = open(my $out, '-|') // die "fork: $!\n";
	if ($pid == 0) {
		open(STDIN, '<', "$dir/inputs") or die;
		exec "$build/t/scenario/workerdrive", '-b', $browser, '-o',
		    $dir, @args, "$build/t/scenario/exampleworker" or die;
	}
	while (<$out>) {
		push @{$said{$1}}, $2 if /^(\S+) ?(.*)$/;
	}
	close $out;
	return \%said;
}

my $said = drive('', '-d');
my $meta = eval { $json->decode($said->{'template.meta'}[0]) } // {};
is($meta->{id}, 'find_text', 'the example describes itself');
is_deeply($meta->{inputs}{required}, [ 'urls', 'text' ], 'with its inputs');

my $site = BrowserTask::Scenario::Site->new;
my @urls = map { $site->url($_) } '/login', '/article-bread', '/download',
    '/register';
$said = drive($json->encode({ urls => \@urls, text => 'password' }), '-t',
    'find_text');
like($said->{'run.end'}[0], qr/^1 /, 'it runs to its end');
open(my $fh, '<', "$dir/found.json") or die "found.json: $!\n";
my $found = $json->decode(do { local $/; <$fh> });
is_deeply([ map { $_->{url} } @$found ], \@urls, 'it looks at all pages');
is_deeply([ map { $_->{success} ? $_->{found} ? 'yes' : 'no'
	    : $_->{error}{errorCode} } @$found ],
    [ 'yes', 'no', 'STEP_EXECUTION_FAILED', 'no' ],
    'and says which contain the text, as it is written');
$site->stop;
done_testing();
