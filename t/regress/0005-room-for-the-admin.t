#!/usr/bin/perl
# When maxClients were connected the administrators' socket was served no more,
# either, so that nobody could see who they were.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use Test::More;

my $i = BrowserTask::Harness->new(settings => ['maxClients=2'])->start;
my @in = map { BrowserTask::Client->new($i->client_sock) } 1 .. 2;
my $late = BrowserTask::Client->new($i->client_sock, raw => 1);
my $hello = $late->send('hello', { proto => 1, client => 'late' });
my $admin = BrowserTask::Client->new($i->admin_sock);

ok($admin->{hello}{admin}, 'an administrator comes in');
is($admin->call('profile.get')->{clients}, 3, 'and sees all');
ok(!$late->receive(0.1), 'a third client waits');
pop @in;
is($late->answer($hello)->{proto}, 1, 'until there is a place');
push @in, $late;

# The administrators' places have an end, too.
my @more = map { BrowserTask::Client->new($i->admin_sock) } 1 .. 15;
$late = BrowserTask::Client->new($i->admin_sock, raw => 1);
$hello = $late->send('hello', { proto => 1, client => 'late' });
is($in[0]->call('profile.get')->{clients}, 18, 'sixteen and two');
ok(!$late->receive(0.1), 'one more waits');
pop @more;
ok($late->answer($hello)->{admin}, 'until there is a place');

done_testing;
