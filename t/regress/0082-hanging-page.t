#!/usr/bin/perl
# A page whose server says nothing had its 30 s twice, by default: a batch with
# one such page took longer than most clients wait for an answer. The second
# attempt is short. What a caller gives is for the first one, as before.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);

my $site = BrowserTask::Scenario::Site->new;
my $i = BrowserTask::Harness->new->start;
my $c = client($i);
my @urls = map { $site->url($_) } '/never-headers', '/news';
my $long = $c->run('batch_extract_pages', { urls => \@urls },
	{ mode => 'async' })->{runId};
my $short = $c->run('batch_extract_pages', { urls => \@urls,
	navigationTimeoutMs => 2000 }, { mode => 'async' })->{runId};

for ([ $short, 2000, 2 * 2000 ], [ $long, 30000, 40000 ]) {
	my ($run, $ms, $least) = @$_;
	my $r = ended($c, $run, 200);
	my ($hung, $good) = @{ $r->{result}{items} };

	is($r->{status}, 'partial_success', "$ms ms: the run goes on");
	is($hung->{error}{message}, 'the server did not answer within '
	    . "$ms ms", '... the page that hangs had its time');
	is($hung->{attempts}, 2, '... and another attempt');
	cmp_ok($hung->{elapsedMs}, '>=', $least, '... of its length');
	cmp_ok($hung->{elapsedMs}, '<', $least + 15000, '... and no more');
	ok($good->{success}, '... the other page is read');
}
is($i->stop, 0, 'stops');
$site->stop;
done_testing();
