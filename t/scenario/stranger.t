#!/usr/bin/perl
# A client in another language, written from browsertask-control(7) alone, can
# do all that the page tells. What it says is the result of this test.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;

my ($top, $build) = @ENV{qw(srcdir builddir)};
my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';

sub skip { print "1..0 # SKIP $_[0]\n"; exit 0 }

skip('no Chromium is installed')
    unless grep { -x "$chromium/$_" } qw(chromium-headless-shell chromium);
skip('no Python is installed')
    if system('python3 -c "import socket" 2>/dev/null') != 0;

my $site = BrowserTask::Scenario::Site->new;
my $i = BrowserTask::Harness->new(
    mode => (BrowserTask::Harness::modes())[0]);
$i->start;
my $status = system('python3', "$top/t/client/stranger.py", $i->client_sock,
    $site->url(''));
$i->stop;
exit($status == 0 ? 0 : 1);
