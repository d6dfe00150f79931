#!/usr/bin/perl
# A service of an ordinary user with a group for its clients did not start a
# second time: its socket directory, which it had opened to that group itself,
# was not private any more.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

for my $mode (modes()) {
	for my $setting (qw(clientGroup adminGroup)) {
		my $i = BrowserTask::Harness->new(mode => $mode,
			scripted => 1);
		my $gid = $mode eq 'user' ? (stat $i->dir)[5] : 65534;

		$i->configure("$setting = \"$gid\"\n");
		for my $time (qw(first second)) {
			$i->start;
			is(client($i)->run('scripted', { do => ['result'] },
				{ mode => 'sync' })->{status}, 'succeeded',
				"$mode, $setting: works the $time time");
			is($i->stop, 0, 'stop');
		}
	}
}
done_testing();
