#!/usr/bin/perl
# Items of batch_extract_pages lacked the fields that were not known, where the
# contract has them always, null if need be.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use Test::More;

my @fields = qw(attempts contentSections elapsedMs elementCount finalUrl
	pageType status success title url);
my @unknown = qw(contentSections elementCount finalUrl pageType status title);
my $i = BrowserTask::Harness->new->start;
my $c = BrowserTask::Client->new($i->client_sock);
my $r = $c->run('batch_extract_pages', { urls => [ 'about:blank', 'ftp://a/' ],
	extract => { pageInfo => $BrowserTask::Client::false,
		content => $BrowserTask::Client::false },
	csv => $BrowserTask::Client::true }, { mode => 'sync' });
my ($read, $bad) = @{ $r->{result}{items} };

is_deeply([ sort keys %$read ], \@fields, 'a page that was read');
is($read->{title}, undef, 'title was not asked for: null');
is_deeply([ sort keys %$bad ], [ sort @fields, 'error' ], 'one that failed');
is(scalar(grep { defined $bad->{$_} } @unknown), 0, 'nothing known of it');

my ($csv) = map { $c->call('artifact.get', { artifactId => $_ }) }
    map { $_->{artifactId} } grep { $_->{kind} eq 'csv' }
    @{ $c->call('artifact.list', { runId => $r->{runId} })->{artifacts} };
my @lines = split /\r\n/, $csv->{data};
like($lines[1], qr/^about:blank,about:blank,,,,,,true,,,\d+,1$/,
	'CSV: cells without a value are empty');
like($lines[2], qr{^ftp://a/,,,,,,,false,INVALID_PARAMETER,[^,]+,\d+,1$},
	'CSV: of one that failed, too');

done_testing;
